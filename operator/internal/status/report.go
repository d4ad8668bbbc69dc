package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Report is the status of a stack.
type Report struct {
	// Cluster is the cluster's name; empty for a stack of another kind.
	Cluster string `json:"cluster,omitempty"`
	// Time of the report.
	Time time.Time `json:"time"`
	// Hosts that the stack configures, in the order of its inventory; absent for a cluster.
	Hosts []Host `json:"hosts,omitempty"`
	// Systems of a stack that has some, in the order of its inventory: virtual machines, then containers.
	Systems []System `json:"systems,omitempty"`
	// Machines of the inventory, in its order.
	Machines []Machine `json:"machines"`
	// Networked reports whether the cluster was given a network plugin; without one no Node is ever Ready.
	Networked bool `json:"networked"`
	// Members of etcd.
	Members []nodeops.EtcdMember `json:"etcdMembers,omitempty"`
	// Certificates of the administrator.
	Certificates []Certificate `json:"certificates,omitempty"`
	// Credentials of the stack, those that end first at the front; absent where they were not looked for.
	Credentials []Credential `json:"credentials,omitempty"`
	// State summarises the engine's state.
	State State `json:"state"`
	// Copies are the newest copies of the cluster, on this machine and in its buckets.
	Copies Copies `json:"copies"`
	// LostISOs are those that templates boot and that are not there.
	LostISOs []pve.ISO `json:"lostISOs,omitempty"`
	// Orphans lie on the host, and nothing uses them.
	Orphans []Orphan `json:"orphans,omitempty"`
	// Unclear is what is not known about orphans, a sentence each. It says nothing about the cluster's health.
	Unclear []string `json:"unclear,omitempty"`
	// Unread is what could not be queried, a sentence each.
	Unread []string `json:"unread,omitempty"`
	// unreadRemedies are what to do about some of Unread, by their sentences.
	unreadRemedies map[string]string
	// nodesRead reports whether Kubernetes listed its Nodes.
	nodesRead bool
	// place is where its text is read.
	place remedy.Place
}

// At returns the report with its commands completed for a place.
func (r Report) At(place remedy.Place) Report {
	r.place, r.Orphans, r.Unclear = place, slices.Clone(r.Orphans), slices.Clone(r.Unclear)
	for i := range r.Orphans {
		r.Orphans[i] = r.Orphans[i].At(place)
	}
	for i := range r.Unclear {
		r.Unclear[i] = place.Complete(r.Unclear[i])
	}
	return r
}

// Machine is a machine of the inventory, as reported by the host, Talos and Kubernetes.
type Machine struct {
	// Name is that of the inventory.
	Name string `json:"name"`
	// Role is that of the inventory.
	Role inventory.Role `json:"role"`
	// Host is where the inventory wants it.
	Host string `json:"host"`
	// VMID is that of the inventory.
	VMID int `json:"vmid"`
	// Address is that of the inventory; in a rehearsal, on the lab's network.
	Address netip.Addr `json:"address"`
	// VM is the status of the virtual machine, e.g. running or stopped; unknown when its host is off; absent when there is none;
	// empty when the host was not asked.
	VM string `json:"vm,omitempty"`
	// On is the host that the virtual machine is on, if that is another one than the inventory's.
	On string `json:"on,omitempty"`
	// Taken is the other guest that has its VMID; empty if there is none. The machine itself is then absent.
	Taken string `json:"taken,omitempty"`
	// Known reports whether the state knows the virtual machine.
	Known bool `json:"known"`
	// GPUs that its Node should offer, as often as each is shared; 0 where the inventory has no device plugin.
	GPUs int64 `json:"gpus,omitempty"`
	// DataDisks are the volumes that lie on its data disks, in their order.
	DataDisks []string `json:"dataDisks,omitempty"`
	// Image is what the inventory wants its Talos to be installed from.
	Image Image `json:"image"`
	// WantedKubernetes is the version of Kubernetes that the inventory wants.
	WantedKubernetes string `json:"wantedKubernetes"`
	// Node is what Talos on it reports; nil if it was not asked. If it does not answer, or not as one of the cluster, it has no release,
	// and the reason is its only unmet condition.
	Node *nodeops.Observation `json:"node,omitempty"`
	// Silent reports whether no Talos answers at its address; false if it answers anything, such as that it is another cluster's.
	Silent bool `json:"silent,omitempty"`
	// Gateways that the inventory wants, IPv4 before IPv6.
	Gateways []netip.Addr `json:"wantedGateways,omitempty"`
	// GuestAgent is what its guest agent reports; nil where the inventory's images have none, and for a machine that does not run.
	GuestAgent *GuestAgent `json:"guestAgent,omitempty"`
	// Kubernetes is its Node; nil when there is none, or the API does not answer.
	Kubernetes *KubernetesNode `json:"kubernetes,omitempty"`
}

// KubernetesNode is a node's Node in Kubernetes.
type KubernetesNode struct {
	// Ready is the condition of that name.
	Ready bool `json:"ready"`
	// Cordoned is whether it is unschedulable.
	Cordoned bool `json:"cordoned,omitempty"`
	// Kubelet is the kubelet's version.
	Kubelet string `json:"kubelet"`
	// GPUs that it offers.
	GPUs int64 `json:"gpus,omitempty"`
}

// State is a summary of the engine's state.
type State struct {
	// Resources in it; 0 for a cluster that was never brought up, or is gone.
	Resources int `json:"resources"`
	// LastUpdate is the last run that changed something; nil when there was none.
	LastUpdate *Update `json:"lastUpdate,omitempty"`
	// Pending operations were begun and never ended.
	Pending []string `json:"pending,omitempty"`
	// Locks of the state.
	Locks []recovery.Lock `json:"locks,omitempty"`
}

// Update is a run of the engine.
type Update struct {
	// Kind is update, destroy, refresh or import.
	Kind string `json:"kind"`
	// Result is succeeded, failed or in-progress.
	Result string `json:"result"`
	// Ended is when it ended.
	Ended time.Time `json:"ended"`
}

// Lacks returns what needs attention or time: a machine that does not run, a node that is not ready, something that could not be
// read. It returns nil for a healthy cluster. Orphans, certificates, copies and guest agents do not affect a
// cluster's health.
func (r Report) Lacks() []string {
	var lacks []string
	for _, machine := range r.Machines {
		reason := machine.lacks(r.Networked)
		if reason == "" && r.isOutsideEtcd(machine) {
			reason = "it has not joined etcd"
		}
		if reason != "" {
			lacks = append(lacks, machine.Name+": "+reason)
		}
	}
	for _, member := range r.Members {
		if member.Problem != "" {
			lacks = append(lacks, cmp.Or(member.Name, member.Address)+": "+member.Problem)
		}
	}
	for _, host := range r.Hosts {
		if reason := host.lacks(); reason != "" {
			lacks = append(lacks, reason)
		}
	}
	for _, system := range r.Systems {
		if reason := system.lacks(); reason != "" {
			lacks = append(lacks, reason)
		}
	}
	for _, operation := range r.State.Pending {
		lacks = append(lacks, operation+": it was begun and never ended")
	}
	for _, iso := range r.LostISOs {
		lacks = append(lacks, iso.Volume+" is not on "+iso.Host+": machines that are made there do not start")
	}
	return append(lacks, r.Unread...)
}

// isOutsideEtcd reports whether a machine is a control plane without a member among those of etcd.
func (r Report) isOutsideEtcd(machine Machine) bool {
	return machine.Role == inventory.RoleControlPlane && len(r.Members) > 0 && !slices.ContainsFunc(r.Members, func(m nodeops.EtcdMember) bool {
		return m.Name == machine.Name || m.Address == machine.Address.String()
	})
}

func (m Machine) lacks(networked bool) string {
	switch {
	case m.Taken != "":
		return "its VMID is taken by " + m.Taken
	case m.VM != "" && m.VM != running:
		return "its VM is " + m.VM
	case !m.Known:
		return "the state does not know its VM"
	case m.Node == nil:
		return "its Talos was not asked, for want of a talosconfig"
	case len(m.unmet(networked)) > 0:
		return strings.Join(m.unmet(networked), ", ")
	case m.Node.Stage != runtime.MachineStageRunning.String():
		return "it is in stage " + m.Node.Stage // without unmet conditions: Talos checks none while it reboots, upgrades or resets
	case len(m.diskProblems()) > 0:
		return strings.Join(m.diskProblems(), ", ")
	case m.misrouted() != "":
		return m.misrouted()
	case m.Kubernetes == nil:
		return "Kubernetes has no Node of its name"
	case networked && !m.Kubernetes.Ready:
		return "its Node is not Ready"
	case m.Kubernetes.GPUs < m.GPUs:
		return fmt.Sprintf("its Node offers %d of %d %s", m.Kubernetes.GPUs, m.GPUs, nodeops.GPUResource)
	default:
		return ""
	}
}

// Unregistered returns the machines that run and are well but for their Node, which was deleted or is not registered yet.
// It returns nil if the Nodes could not be read.
func (r Report) Unregistered() []Machine {
	return slices.DeleteFunc(slices.Clone(r.Machines), func(m Machine) bool {
		return !r.nodesRead || m.Kubernetes != nil || m.Node == nil || m.Node.Stage != runtime.MachineStageRunning.String() || len(m.unmet(false)) > 0
	})
}

// misrouted describes a default route that differs from the inventory's; empty if there is none. A node without a default route of a
// family is accepted, because the emulated nodes have no IPv6.
func (m Machine) misrouted() string {
	for _, wanted := range m.Gateways {
		for _, used := range m.Node.Gateways {
			if used.Is4() == wanted.Is4() && used != wanted {
				return fmt.Sprintf("its default route leads to %s, the inventory says %s", used, wanted)
			}
		}
	}
	return ""
}

// unmet returns the conditions that Talos waits for. It omits the condition of the Kubernetes Node if no network was installed
// (talos v1.12.0, controllers/runtime/machine_status.go).
func (m Machine) unmet(networked bool) []string {
	return slices.DeleteFunc(slices.Clone(m.Node.Unmet), func(condition string) bool {
		return !networked && strings.HasPrefix(condition, "nodeReady: ")
	})
}
