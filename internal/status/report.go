package status

import (
	"net/netip"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/recovery"
)

// Report is what stands.
type Report struct {
	// Cluster is the cluster's name.
	Cluster string `json:"cluster"`
	// Time of the report.
	Time time.Time `json:"time"`
	// Machines of the inventory, in its order.
	Machines []Machine `json:"machines"`
	// Members of etcd.
	Members []nodeops.EtcdMember `json:"etcdMembers,omitempty"`
	// Certificates of the administrator.
	Certificates []Certificate `json:"certificates,omitempty"`
	// State is what the engine's state says of itself.
	State State `json:"state"`
	// Orphans lie on the host, and nothing uses them.
	Orphans []Orphan `json:"orphans,omitempty"`
	// Unread is what could not be asked, a sentence each.
	Unread []string `json:"unread,omitempty"`
}

// Machine is one of the inventory, as the host, Talos and Kubernetes see it.
type Machine struct {
	Name    string         `json:"name"`
	Role    inventory.Role `json:"role"`
	Host    string         `json:"host"`
	VMID    int            `json:"vmid"`
	Address netip.Addr     `json:"address"`
	// VM is the status of the virtual machine, e.g. running or stopped; absent when there is none; empty when the host was
	// not asked.
	VM string `json:"vm,omitempty"`
	// Known says whether the state knows the virtual machine.
	Known bool `json:"known"`
	// Node is what its Talos says; nil when it does not answer.
	Node *nodeops.Observation `json:"node,omitempty"`
	// Kubernetes is its Node; nil when there is none, or the API does not answer.
	Kubernetes *KubernetesNode `json:"kubernetes,omitempty"`
}

// KubernetesNode is what Kubernetes knows of a node.
type KubernetesNode struct {
	// Ready is the condition of that name.
	Ready bool `json:"ready"`
	// Cordoned says that no Pod is placed there.
	Cordoned bool `json:"cordoned,omitempty"`
	// Kubelet is the kubelet's version.
	Kubelet string `json:"kubelet"`
	// GPUs that it offers.
	GPUs int64 `json:"gpus,omitempty"`
}

// State is what the engine's state says of itself.
type State struct {
	// Resources in it; 0 for a cluster that was never brought up, or is gone.
	Resources int `json:"resources"`
	// LastUpdate is the last run that changed something; nil when there was none.
	LastUpdate *Update `json:"lastUpdate,omitempty"`
	// Pending operations were begun and never ended.
	Pending []string `json:"pending,omitempty"`
	// Locks lie on it.
	Locks []recovery.Lock `json:"locks,omitempty"`
}

// Update is one run.
type Update struct {
	// Kind is update, destroy, refresh or import.
	Kind string `json:"kind"`
	// Result is succeeded, failed or in-progress.
	Result string `json:"result"`
	// Ended is when it ended.
	Ended time.Time `json:"ended"`
}

// IsWell says that nothing of the report needs anybody's attention: every machine runs and is Ready, and everything was
// read. Orphans and certificates take nothing from a cluster yet.
func (r Report) IsWell() bool {
	for _, machine := range r.Machines {
		if machine.Kubernetes == nil || !machine.Kubernetes.Ready || machine.VM != "running" || machine.Node == nil || len(machine.Node.Unmet) > 0 {
			return false
		}
	}
	return len(r.Unread) == 0 && len(r.State.Pending) == 0
}
