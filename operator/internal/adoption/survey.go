package adoption

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Seen is what the host and the node say about one node of the inventory.
type Seen struct {
	// Node of the inventory.
	Node inventory.Node
	// Machine at its VMID; nil if there is none.
	Machine *pve.Machine
	// Configuration that the node runs with, secret; nil if it did not answer.
	Configuration []byte
	// Kubernetes is the version that the node is configured for, e.g. v1.35.4; empty if it is not known.
	Kubernetes string
	// Firmware is the UUID of the firmware that the node reads; empty if it did not answer.
	Firmware string
	// Foreign is true if something answers at its address that is not of the cluster.
	Foreign bool
	// Silent is why the node did not answer; nil if it did.
	Silent error
}

// Survey is what is known of a cluster before it is adopted.
type Survey struct {
	// Inventory describes the cluster.
	Inventory *inventory.Inventory
	// Owner is the stack and the cluster of the machine secrets.
	Owner ownership.Owner
	// Nodes are those of the inventory, in its order.
	Nodes []Seen
	// Others are machines of the stack and the cluster that are at no VMID of the inventory.
	Others []pve.Guest
}

// Refusals returns a sentence for each reason why the cluster cannot be adopted: a machine that is another's, a node that is not what
// the inventory says, or facts that the cluster was created with. Empty if there is none.
func (s Survey) Refusals() []string {
	refusals := s.leftOut()
	for _, seen := range s.Nodes {
		if s.hasOther(seen) {
			continue // leftOut names its machine
		}
		if refusal := seen.refusal(s.Owner); refusal != "" {
			refusals = append(refusals, refusal)
		}
	}
	if len(refusals) == 0 && !slices.ContainsFunc(s.Nodes, func(seen Seen) bool { return seen.Machine != nil }) {
		return []string{"no machine of the inventory is on its host: there is nothing to adopt; `em-infra up` makes the cluster"}
	}
	return slices.Concat(refusals, s.bornOtherwise(), s.otherKubernetes())
}

// hasOther reports whether a machine of the cluster at another VMID is that of a node.
func (s Survey) hasOther(seen Seen) bool {
	return slices.ContainsFunc(s.Others, func(guest pve.Guest) bool { return isMachineOf(guest, seen) })
}

// isMachineOf reports whether a machine at another VMID is that of a node, by its name.
func isMachineOf(guest pve.Guest, seen Seen) bool {
	return seen.Machine == nil && seen.Node.Name == guest.Name
}

// leftOut returns a sentence for each machine of the cluster that is at no VMID of the inventory. No later run would remove it from the
// cluster, and an up could create a second one with its name and address.
func (s Survey) leftOut() []string {
	var refusals []string
	for _, guest := range s.Others {
		way := "add it to nodes.yaml, adopt the cluster, and remove it afterwards; or delete the VM if it is no longer needed"
		if at := slices.IndexFunc(s.Nodes, func(seen Seen) bool { return isMachineOf(guest, seen) }); at >= 0 {
			way = fmt.Sprintf("set the vmid of %s from %d to %d", guest.Name, s.Nodes[at].Node.VMID, guest.VMID)
		}
		refusals = append(refusals, fmt.Sprintf("VM %d (%s) on %s belongs to this cluster and is missing in nodes.yaml: %s", guest.VMID, guest.Name, guest.Node, way))
	}
	return refusals
}

// otherKubernetes returns a sentence for a node with another version of Kubernetes than the inventory's. The state would say that the
// inventory's runs, and no later run would bring it.
func (s Survey) otherKubernetes() []string {
	wanted := s.Inventory.Cluster.Kubernetes.Version.String()
	for _, seen := range s.Nodes {
		if seen.Kubernetes != "" && seen.Kubernetes != wanted {
			return []string{fmt.Sprintf("cluster.yaml: kubernetes.version is %s, and %s runs %s: set it to that, adopt the cluster, and upgrade it afterwards", wanted, seen.Node.Name, seen.Kubernetes)}
		}
	}
	return nil
}

// refusal returns why one node is not adopted; empty if it is, or if its machine does not exist. A machine that runs at another VMID would
// be left alone, and an up would create a second one with its address.
func (s Seen) refusal(owner ownership.Owner) string {
	switch {
	case s.Machine == nil && s.Configuration != nil:
		return fmt.Sprintf("%s runs at %s, and VM %d, which it has in nodes.yaml, is not there: set its vmid to that of its machine", s.Node.Name, s.Node.Address, s.Node.VMID)
	case s.Machine == nil:
		return ""
	}
	vm := fmt.Sprintf("VM %d (%s) on %s", s.Node.VMID, s.Machine.Name, s.Machine.Node)
	switch {
	case s.Machine.Lock != "" || s.Machine.Empty:
		return vm + " is being made or worked on: wait until its task ends, then run adopt again"
	case s.Machine.Owner.Cluster != "" && s.Machine.Owner != owner:
		return fmt.Sprintf("%s belongs to %s, and the machine secrets are those of %s: name the machines of this cluster in nodes.yaml, or give the secrets of that one", vm, s.Machine.Owner, owner)
	case s.Foreign:
		return fmt.Sprintf("%s: what answers at %s does not know the machine secrets: give the secrets of its cluster, or correct the address in nodes.yaml", vm, s.Node.Address)
	case s.Machine.Owner.Cluster == "" && s.Configuration == nil:
		return fmt.Sprintf("%s names no owner, and %s does not answer: start it, so that it proves that it is of this cluster, then run adopt again", vm, s.Node.Address)
	case s.Machine.Owner.Cluster == "" && !IsSameFirmware(s.Firmware, s.Machine.Birth):
		return fmt.Sprintf("%s names no owner, and %s does not say that it is that machine: correct vmid or address in nodes.yaml", vm, s.Node.Address)
	case s.isOtherRole():
		return fmt.Sprintf("%s runs as another role than %s in nodes.yaml: correct its role or its address", vm, s.Node.Role)
	case s.isOtherMachine():
		return fmt.Sprintf("%s is not the machine that runs at %s: correct vmid or address in nodes.yaml", vm, s.Node.Address)
	default:
		return ""
	}
}

// isOtherRole reports whether the node runs as a control plane and should be a worker, or the other way round.
func (s Seen) isOtherRole() bool {
	parsed := parse(s.Configuration)
	return parsed != nil && parsed.Machine() != nil && parsed.Machine().Type().IsControlPlane() != (s.Node.Role == inventory.RoleControlPlane)
}

// isOtherMachine reports whether the node runs on another machine than the one at its VMID, by the UUID of the firmware.
func (s Seen) isOtherMachine() bool {
	return s.Firmware != "" && s.Machine.Birth != "" && !IsSameFirmware(s.Firmware, s.Machine.Birth)
}

// IsSameFirmware compares the UUIDs of two firmwares. Firmware stores the first three groups in the other byte order, and some readers keep it.
func IsSameFirmware(one, other string) bool {
	a, err := uuid.Parse(one)
	if err != nil {
		return false
	}
	b, err := uuid.Parse(other)
	if err != nil {
		return false
	}
	swapped := b
	for _, group := range [][]byte{swapped[0:4], swapped[4:6], swapped[6:8]} {
		slices.Reverse(group)
	}
	return a == b || a == swapped
}

// bornOtherwise returns a sentence for each fact of the inventory that differs from what the cluster was created with.
func (s Survey) bornOtherwise() []string {
	at := slices.IndexFunc(s.Nodes, func(seen Seen) bool {
		return seen.Configuration != nil && seen.Node.Role == inventory.RoleControlPlane
	})
	if at < 0 {
		return nil
	}
	parsed := parse(s.Nodes[at].Configuration)
	if parsed == nil || parsed.Cluster() == nil {
		return nil
	}
	kubernetes, network := s.Inventory.Cluster.Kubernetes, parsed.Cluster().Network()
	pods, services, cni := strings.Join(network.PodCIDRs(), ", "), strings.Join(network.ServiceCIDRs(), ", "), network.CNI().Name()
	var refusals []string
	for _, fact := range []struct{ name, has, inWords, wanted string }{ // inWords are those of the inventory
		{"name", parsed.Cluster().Name(), parsed.Cluster().Name(), s.Inventory.Cluster.Name},
		{"kubernetes.podSubnets", pods, pods, prefixes(kubernetes.PodSubnets)},
		{"kubernetes.serviceSubnets", services, services, prefixes(kubernetes.ServiceSubnets)},
		{"kubernetes.cni", cni, cniOf(cni, kubernetes.CNI), string(kubernetes.CNI)},
	} {
		if fact.inWords != fact.wanted {
			refusals = append(refusals, fmt.Sprintf("cluster.yaml: %s is %s, and the cluster was made with %s: set it to %s", fact.name, fact.wanted, fact.has, fact.inWords))
		}
	}
	return refusals
}

// cniOf returns the inventory's name for a network plugin of Talos. In the inventory, cilium is an addon, for which Talos installs none; a custom
// plugin, which Talos installs from URLs, counts as none, since em-infra does not install it.
func cniOf(name string, wanted inventory.CNI) string {
	if name == constants.CustomCNI {
		name = string(inventory.CNINone)
	}
	if name == string(inventory.CNINone) && wanted == inventory.CNICilium {
		return string(wanted)
	}
	return name
}

func prefixes(all []netip.Prefix) string {
	texts := make([]string, len(all))
	for i, prefix := range all {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ", ")
}

// parse returns a machine configuration; nil if there is none, or if it cannot be read.
func parse(configuration []byte) config.Config {
	if configuration == nil {
		return nil
	}
	parsed, err := configloader.NewFromBytes(configuration)
	if err != nil {
		return nil
	}
	return parsed
}

// Births returns the marks of birth of the machines, in the order of the inventory; empty for one that does not exist.
func (s Survey) Births() []string {
	births := make([]string, len(s.Nodes))
	for i, seen := range s.Nodes {
		if seen.Machine != nil {
			births[i] = seen.Machine.Birth
		}
	}
	return births
}

// Notes returns a sentence for each node that is not adopted whole.
func (s Survey) Notes() []string {
	var notes []string
	for _, seen := range s.Nodes {
		switch {
		case seen.Machine == nil:
			notes = append(notes, fmt.Sprintf("%s: VM %d is not there, so it is not adopted", seen.Node.Name, seen.Node.VMID))
		case seen.Silent != nil:
			notes = append(notes, fmt.Sprintf("%s does not answer (%v): its machine is known by its mark, its configuration is not compared", seen.Node.Name, seen.Silent))
		}
	}
	return notes
}

// DifferingSecrets returns a sentence for each control plane whose machine configuration has other secrets than those that were given.
func (s Survey) DifferingSecrets(given Secrets, now time.Time) []string {
	var refusals []string
	for _, seen := range s.Nodes {
		if seen.Configuration == nil || seen.Node.Role != inventory.RoleControlPlane {
			continue
		}
		runs, err := SecretsIn(seen.Configuration, now)
		if err != nil {
			refusals = append(refusals, fmt.Sprintf("%s: %v: correct its role or its address in nodes.yaml", seen.Node.Name, err))
			continue
		}
		if differs := given.Difference(runs); len(differs) > 0 {
			refusals = append(refusals, fmt.Sprintf("%s runs with other machine secrets than those that were given (%s): give the secrets of this cluster, or leave --secrets out to read them from it", seen.Node.Name, strings.Join(differs, ", ")))
		}
	}
	return refusals
}
