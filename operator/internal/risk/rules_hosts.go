package risk

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostNetwork matches the Command that makes the network of a host.
func hostNetwork(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host network release")
}

// hostNetworkChanged returns the finding with the interfaces that a host is to have, and that its network is reloaded.
func hostNetworkChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{"the interfaces of a host"}, rank: rankRest}
	if environment, isMap := s.Present()["environment"].(map[string]any); isMap {
		if text, isText := environment["EM_INFRA_HOST_NETWORK"].(string); isText {
			if wanted, err := hostspec.ParseNetwork(text); err == nil {
				f.Subject, f.What = "network of "+wanted.Node, []string{"interfaces " + wanted.Names()}
			}
		}
	}
	if s.Op == apitype.OpDelete {
		f.What = []string{"the interfaces that this stack has made"}
	}
	f.Means = []string{"all changes are staged and applied with one reload of the host's network; what the API is reached by is refused"}
	return f
}

// hostStorage matches the Command that defines a storage.
func hostStorage(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host storage release")
}

// hostStorageChanged returns the finding with the storage that is defined, and that no data are touched.
func hostStorageChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{"the definition of a storage"}, rank: rankRest}
	if environment, isMap := s.Present()["environment"].(map[string]any); isMap {
		if text, isText := environment["EM_INFRA_HOST_STORAGE"].(string); isText {
			if wanted, err := hostspec.ParseStorage(text); err == nil {
				f.Subject, f.What = "storage "+wanted.Name, []string{wanted.Type + " for " + strings.Join(wanted.Content, ", ")}
			}
		}
	}
	f.Means = []string{"its data are not touched"}
	if s.Op == apitype.OpDelete {
		f.Means = []string{"its definition goes if this stack has made it, and its data stay; refused while machines use it"}
	}
	return f
}

// hostToken matches the Command that makes a token.
func hostToken(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host token release")
}

// hostTokenChanged names the token and what happens to the programs that use it.
func hostTokenChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{"an API token"}, rank: rankRest}
	if wanted, err := hostspec.ParseToken(environmentOf(s.Present(), "EM_INFRA_HOST_TOKEN")); err == nil {
		f.Subject = "token " + wanted.ID
	}
	switch s.Op {
	case apitype.OpCreate:
		f.Means = []string{"its secret is in the output proxmoxTokens"}
	case apitype.OpDelete:
		f.Means = []string{"programs that use it are refused from then on"}
	default:
		f.Means = []string{"its secret stays, unless the token was deleted on the host"}
	}
	return f
}

// hostAccess matches the Command that makes the access control.
func hostAccess(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host access release")
}

// hostAccessChanged names the roles, groups and users that the stack has, and those that it gives up.
func hostAccessChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: "access", What: []string{"roles, groups, users and permissions"}, rank: rankRest}
	wanted, err := hostspec.ParseAccess(environmentOf(s.Present(), "EM_INFRA_HOST_ACCESS"))
	if err == nil {
		f.What = wanted.Names()
	}
	f.Means = []string{"it holds at once; a change that would take a privilege from the token of this run is refused"}
	if former, err := hostspec.ParseAccess(environmentOf(s.Old, "EM_INFRA_HOST_ACCESS")); err == nil && s.Op == apitype.OpUpdate {
		if gone := former.Without(wanted).Names(); len(gone) > 0 {
			f.Means = append(f.Means, "deleted, if this stack has made them: "+strings.Join(gone, "; "))
		}
	}
	if s.Op == apitype.OpDelete {
		f.Means = []string{"what this stack has made is deleted, and what was there before it stays"}
	}
	return f
}

// environmentOf returns a variable of the environment of a Command.
func environmentOf(properties map[string]any, name string) string {
	environment, _ := properties["environment"].(map[string]any)
	text, _ := environment[name].(string)
	return text
}
