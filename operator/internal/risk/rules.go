package risk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineupdate"
)

// Ranks are the order of findings.
const (
	rankCluster = iota + 1
	rankControlPlane
	rankWorker
	rankRest
)

// rule judges the steps that it matches.
type rule struct {
	// name of the rule, for its test.
	name string
	fits func(plan.Step, topology) bool
	// finding may return nil: there is nothing to report.
	finding func(plan.Step, topology) *Finding
}

// rules is the table: the first rule that matches a step judges it.
var rules = []rule{
	{"a node rejoins", nodeRejoins, nodeRecreated},
	{"part of a node that rejoins", partOfRejoin, nothing},
	{"a node's machine is made", machineOfNode(apitype.OpCreate), nodeCreated},
	{"a node's machine is changed", machineOfNode(apitype.OpUpdate), nodeChanged},
	{"a node's machine is replaced", machineOfNode(apitype.OpReplace), nodeReplaced},
	{"a node's machine is deleted", machineOfNode(apitype.OpDelete), nodeDeleted},
	{"a system is made", system(apitype.OpCreate), systemCreated},
	{"a system is changed", system(apitype.OpUpdate), systemChanged},
	{"a system is replaced", system(apitype.OpReplace), systemReplaced},
	{"a system is deleted", system(apitype.OpDelete), systemDeleted},
	{"the root of a container", rootOfContainer, rootGrows},
	{"what systems are made from", sourceOfSystems, sourceChanged},
	{"a template is replaced or deleted", of(token.VirtualMachine, apitype.OpReplace, apitype.OpDelete), templateGoes},
	{"a machine configuration was changed by hand", byHand, configurationPutBack},
	{"a machine configuration is changed", of(token.Configuration, apitype.OpUpdate), configurationChanged},
	{"machine secrets are changed", of(token.Secrets, apitype.OpUpdate, apitype.OpReplace, apitype.OpDelete), secretsChanged},
	{"etcd is bootstrapped anew", of(token.Bootstrap, apitype.OpReplace, apitype.OpDelete), bootstrappedAnew},
	{"Kubernetes is upgraded", upgradesKubernetes, kubernetesUpgraded},
	{"a node's Talos is upgraded", upgradesNode, nodeUpgraded},
	{"an ISO is made sure of", isoOfTemplate, isoEnsured},
	{"the network of a host", hostNetwork, hostNetworkChanged},
	{"the definition of a storage", hostStorage, hostStorageChanged},
	{"the settings of a host", hostSettings, hostSettingsChanged},
	{"the options of the cluster", hostOptions, hostOptionsChanged},
	{"a metric server or a backup job", hostDefinition, hostDefinitionChanged},
	{"the access control", hostAccess, hostAccessChanged},
	{"a token", hostToken, hostTokenChanged},
	{"the device of a GPU", deviceOfNode, deviceChanged},
	{"part of a node", partOfNode, nothing},
	{"a component, a provider or a command", internal, nothing},
	{"anything else", func(plan.Step, topology) bool { return true }, otherChanged},
}

func of(kind tokens.Type, ops ...apitype.OpType) func(plan.Step, topology) bool {
	return func(s plan.Step, _ topology) bool { return s.URN.Type() == kind && slices.Contains(ops, s.Op) }
}

func machineOfNode(op apitype.OpType) func(plan.Step, topology) bool {
	return func(s plan.Step, t topology) bool {
		return s.URN.Type() == token.VirtualMachine && s.Op == op && t.nodes[s.Parent] != nil
	}
}

// partOfNode matches resources that are created, replaced or deleted with their machine.
func partOfNode(s plan.Step, t topology) bool {
	return t.nodes[s.Parent] != nil && s.Op != apitype.OpUpdate
}

// partOfRejoin matches the configuration that is applied to a machine that was created again.
func partOfRejoin(s plan.Step, t topology) bool {
	n := t.nodes[s.Parent]
	return n != nil && n.rejoins() && s.URN.Type() == token.Configuration
}

// internal matches resources without an effect outside of the state.
func internal(s plan.Step, _ topology) bool {
	kind := s.URN.Type()
	return kind.Package() == "em-infra" || kind.Package() == "pulumi" || kind == token.Command
}

func nothing(plan.Step, topology) *Finding { return nil }

func rankOf(n *node) int {
	if n.controlPlane {
		return rankControlPlane
	}
	return rankWorker
}

func nodeCreated(s plan.Step, t topology) *Finding {
	n := t.nodes[s.Parent]
	what := fmt.Sprintf("VM %v on %v", propertymap.At(s.New, "vmId"), propertymap.At(s.New, "nodeName"))
	if address := propertymap.Text(s.New, "initialization.ipConfigs[0].ipv4.address"); address != "" && address != "dhcp" {
		address, _, _ = strings.Cut(address, "/")
		what += ", " + address
	}
	return &Finding{Kind: Create, Subject: n.name, What: []string{what}, rank: rankOf(n)}
}

func nodeChanged(s plan.Step, t topology) *Finding {
	n := t.nodes[s.Parent]
	f := &Finding{Kind: Change, Subject: n.name, rank: rankOf(n)}
	grows := f.addChanges(s, machineupdate.OfVirtualMachine)
	switch {
	case f.Kind == Change && grows:
		f.Means = append(f.Means, "Talos uses the room from the node's next boot on: `em-infra reboot "+n.name+"` brings it about")
	case f.Kind != Reboot:
	case machineupdate.SwitchesOn(s.Old, s.New):
		f.Means = append(f.Means, fmt.Sprintf("it is off: it starts, and reboots once more when it has booted, about %d min", 2*rebootMinutes))
	default:
		f.Means = append(f.Means, rebootMeans(n, t))
	}
	return f
}

// rebootMeans returns the consequences of a reboot in the lane: it drains the node, waits for it, and uncordons it (decision
// 7).
func rebootMeans(n *node, t topology) string {
	others := len(t.controlPlanes()) - 1
	switch {
	case !n.controlPlane:
		return fmt.Sprintf("drained, reboots, about %d min", rebootMinutes)
	case others == 0:
		return fmt.Sprintf("drained, reboots; the Kubernetes API is away for about %d min: this is the only control plane", rebootMinutes)
	default:
		return fmt.Sprintf("drained, reboots; etcd and the Kubernetes API go on with the other %d, about %d min", others, rebootMinutes)
	}
}

// nodeReplaced returns the finding with the facts that changed.
func nodeReplaced(s plan.Step, t topology) *Finding {
	n := t.nodes[s.Parent]
	f := &Finding{Kind: Replace, Subject: n.name, rank: rankOf(n)}
	for _, other := range n.otherFacts() {
		f.What = append(f.What, fmt.Sprintf("%s %s → %s", other.key, other.before, other.after))
		f.Undo = append(f.Undo, fmt.Sprintf("set %s back to %s", other.key, other.before))
	}
	f.What = append(f.What, "the VM is deleted and created again")
	f.goes(n, s, t, FlagReplace)
	return f
}

func nodeDeleted(s plan.Step, t topology) *Finding {
	n := t.nodes[s.Parent]
	f := &Finding{Kind: Delete, Subject: n.name, rank: rankOf(n), What: []string{fmt.Sprintf("VM %v on %v is deleted", propertymap.At(s.Old, "vmId"), propertymap.At(s.Old, "nodeName"))}}
	if n.controlPlane {
		f.Undo = []string{"put " + n.name + " back into nodes.yaml"}
	}
	f.goes(n, s, t, FlagDelete)
	return f
}

// goes adds what is lost with a machine.
func (f *Finding) goes(n *node, s plan.Step, t topology, flag string) {
	if data := len(propertymap.List(s.Old, "disks")) - 1; data > 0 {
		f.Means = append(f.Means, fmt.Sprintf("what is on its data disks (%d) is lost", data))
	}
	if !n.controlPlane {
		f.Means = append(f.Means, "drained and reset first")
		return
	}
	f.leavesEtcd(n, t, flag)
}

// leavesEtcd adds what the removal of a control plane means for etcd. Its member leaves before the machine is deleted, and a replaced
// one joins anew. If there is no other control plane, the data of etcd is lost.
func (f *Finding) leavesEtcd(n *node, t topology, flag string) {
	f.Needs = append(f.Needs, Permission{Flag: flag, Subject: n.name})
	others := t.besides(n)
	switch {
	case others == 0 && n.member && flag == FlagReplace && !n.isControlPlaneAfter():
		f.Kind, f.Needs = Impossible, nil
		f.Means = append(f.Means, "this is the only control plane: the data of etcd would be lost with it")
	case others == 0 && n.member && flag == FlagReplace:
		f.Means = append(f.Means, "this is the only control plane: a snapshot of etcd is taken, and etcd is restored from it on the new machine",
			"the Kubernetes API is away meanwhile, and what is written after the snapshot is lost")
	case others == 0:
		f.Means = append(f.Means, "its etcd data is deleted", "this is the only control plane: the cluster is lost")
	case flag == FlagReplace:
		f.Means = append(f.Means, fmt.Sprintf("drained, its member leaves etcd, and the new machine joins; control planes that go on meanwhile: %d", others))
	default:
		f.Means = append(f.Means, fmt.Sprintf("drained, and its member leaves etcd first; control planes that stay: %d", others))
	}
}
