package risk

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// labels are the names of parts other than nodes.
var labels = map[tokens.Type]string{
	token.VirtualMachine: "template",
	token.Secrets:        "machine secrets",
	token.Bootstrap:      "etcd bootstrap",
	token.Kubeconfig:     "kubeconfig",
	token.Schematic:      "image schematic",
	token.PCIMapping:     "PCI mapping",
	token.USBMapping:     "USB mapping",
	token.Pool:           "resource pool",
	token.DNS:            "DNS",
}

func labelOf(s plan.Step) string {
	kind := s.URN.Type()
	if label, known := labels[kind]; known {
		return label
	}
	return string(kind.Name())
}

func templateGoes(s plan.Step, _ topology) *Finding {
	f := otherChanged(s, topology{})
	f.Means = []string{"nodes that were cloned from it do not notice"}
	return f
}

// isoOfTemplate matches a Command that ensures a template's ISO; another name means another ISO.
func isoOfTemplate(s plan.Step, _ topology) bool {
	return s.URN.Type() == token.Command && s.Parent.IsValid() && s.Parent.Type() == token.TalosTemplate && (s.Op == apitype.OpCreate || s.Op == apitype.OpReplace)
}

func isoEnsured(s plan.Step, _ topology) *Finding {
	volume := "Talos ISO"
	if triggers := propertymap.List(s.New, "triggers"); len(triggers) > 0 {
		volume = fmt.Sprint(triggers[len(triggers)-1])
	}
	return &Finding{Kind: Create, Subject: s.URN.Name(), What: []string{volume + ", unless the host has it"}, rank: rankRest}
}

// configurationChanged reports nothing if the node reads nothing of the change: the upgrade that comes with it has its own line.
func configurationChanged(s plan.Step, t topology) *Finding {
	if n := t.nodes[s.Parent]; n != nil && n.unread && len(s.ByHand) == 0 {
		return nil
	}
	f := &Finding{Kind: Change, Subject: s.URN.Name(), What: []string{"its machine configuration, applied in place; where Talos reboots for it, drained first"}, rank: rankRest}
	if n := t.nodes[s.Parent]; n != nil {
		f.Subject, f.rank = n.name, rankOf(n)
	}
	return f
}

func byHand(s plan.Step, _ topology) bool {
	return len(s.ByHand) > 0 && (s.Op == apitype.OpSame || s.Op == apitype.OpUpdate)
}

// mostPaths is how many paths of a configuration a line contains.
const mostPaths = 3

func configurationPutBack(s plan.Step, t topology) *Finding {
	f := configurationChanged(s, t)
	named := s.ByHand[:min(len(s.ByHand), mostPaths)]
	where := strings.Join(named, ", ")
	if more := len(s.ByHand) - len(named); more > 0 {
		where += fmt.Sprintf(" and %d more", more)
	}
	f.What = []string{"its machine configuration was changed by hand (" + where + ") and is put back; Talos reboots where it must"}
	return f
}

func secretsChanged(s plan.Step, _ topology) *Finding {
	f := otherChanged(s, topology{})
	f.Means = []string{"every certificate and key of the cluster becomes another: no node trusts what is there now, and the cluster is lost"}
	f.Needs = []Permission{{Flag: FlagChange, Subject: SubjectSecrets}}
	return f
}

func bootstrappedAnew(s plan.Step, _ topology) *Finding {
	f := otherChanged(s, topology{})
	f.Means = []string{"etcd would begin anew beside the one that holds the cluster's state"}
	f.Needs = []Permission{{Flag: FlagChange, Subject: SubjectSecrets}}
	return f
}

// kinds of the operations on parts other than nodes.
var kinds = map[apitype.OpType]Kind{apitype.OpCreate: Create, apitype.OpUpdate: Change, apitype.OpReplace: Replace, apitype.OpDelete: Delete}

func otherChanged(s plan.Step, _ topology) *Finding {
	what := labelOf(s)
	if s.Op == apitype.OpUpdate {
		what += ": " + strings.Join(s.Changed, ", ")
	}
	return &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), What: []string{what}, rank: rankRest}
}
