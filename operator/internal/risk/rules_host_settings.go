package risk

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostSettings matches the Command that sets what a host always has.
func hostSettings(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host settings release")
}

// hostSettingsChanged returns the finding with what is set, and what a destroy leaves.
func hostSettingsChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{"settings of a host"}, rank: rankRest}
	if wanted, err := hostspec.ParseHostSettings(environmentOf(s.Present(), "EM_INFRA_HOST_SETTINGS")); err == nil {
		f.Subject, f.What = "settings of "+wanted.Node, wanted.Words()
	}
	if s.Op == apitype.OpDelete {
		f.What = []string{"the names that this stack has added to /etc/hosts"}
		f.Means = []string{"time zone and repositories stay as they are"}
	}
	return f
}

// hostOptions matches the Command that sets options of the cluster. It is the only one without a delete that has this variable.
func hostOptions(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && environmentOf(s.Present(), "EM_INFRA_HOST_OPTIONS") != ""
}

// hostOptionsChanged returns the finding with the options that are set.
func hostOptionsChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: "options of the cluster", What: []string{"options"}, rank: rankRest}
	if wanted, err := hostspec.ParseOptions(environmentOf(s.Present(), "EM_INFRA_HOST_OPTIONS")); err == nil {
		f.What = wanted.Words()
	}
	if s.Op == apitype.OpDelete {
		f.Means = []string{"they stay as they are"}
	}
	return f
}

// hostDefinition matches the Command that makes a metric server or a backup job.
func hostDefinition(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Op != apitype.OpSame && strings.HasSuffix(propertymap.Text(s.Present(), "delete"), " host definition release")
}

// hostDefinitionChanged returns the finding that names the definition, and what stays.
func hostDefinitionChanged(s plan.Step, _ topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{"a definition"}, rank: rankRest}
	wanted, err := hostspec.ParseDefinition(environmentOf(s.Present(), "EM_INFRA_HOST_DEFINITION"))
	if err == nil {
		f.Subject, f.What = wanted.String(), wanted.Words()
	}
	if s.Op == apitype.OpDelete {
		f.Means = []string{"it goes if this stack has made it; what it has sent or backed up stays"}
	}
	return f
}
