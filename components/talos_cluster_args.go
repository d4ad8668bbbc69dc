package components

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/birth"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// CNI is the network plugin of a cluster.
type CNI = machineconfig.CNI

// The network plugins that a cluster can be created with.
const (
	CNIFlannel = machineconfig.CNIFlannel
	CNICilium  = machineconfig.CNICilium
	CNINone    = machineconfig.CNINone
)

// TalosClusterArgs describe one cluster.
type TalosClusterArgs struct {
	// ClusterName is the name in kubeconfig and talosconfig. Required. A change means another cluster.
	ClusterName string
	// Endpoint of the Kubernetes API, e.g. https://192.168.20.10:6443. Required. A change reconfigures every node, without a
	// reboot; the kubeconfig follows.
	Endpoint *url.URL
	// VIP that the control planes share for the Kubernetes API. Default: none, the endpoint is a load balancer or DNS name. A
	// change reconfigures every node, without a reboot.
	VIP netip.Addr
	// Contract is the Talos version whose machine-config format the cluster is created with, e.g. v1.12. Required. A change is
	// refused (F1).
	Contract string
	// KubernetesVersion, e.g. v1.35.4. Required. A change upgrades the running cluster first, one component after the other, and then
	// reconfigures one node after the other, without a reboot.
	KubernetesVersion string
	// PodSubnets are the pods' networks. Required. A change is refused.
	PodSubnets []netip.Prefix
	// ServiceSubnets are the services' networks. Required. A change is refused.
	ServiceSubnets []netip.Prefix
	// CNI is the network plugin. Default: CNIFlannel. It is fixed at bootstrap, and a change is refused.
	CNI CNI
	// KubeProxyReplacement is whether the CNI replaces kube-proxy, which is then not installed. Default: false. It takes effect
	// at bootstrap; after a change, kube-proxy has to be removed or installed by hand.
	KubeProxyReplacement bool
	// KubeletServingCertificates has the kubelets ask the cluster for their serving certificates; their requests must then be approved. Default:
	// false, they sign their own. A change is applied without a reboot.
	KubeletServingCertificates bool
	// SnapshotNamespace is the namespace whose pods may take snapshots of etcd by the Talos API. Default: none. A change is applied to
	// control planes, without a reboot.
	SnapshotNamespace string
	// AllowSchedulingOnControlPlanes lets ordinary pods run on control planes. Default: false. A change is applied without a
	// reboot.
	AllowSchedulingOnControlPlanes bool
	// Network that the machines share. Required. Its fields say what a change does.
	Network NodeNetwork
	// Pool of Proxmox VE that the machines belong to. Default: nil, none. A change is made in place.
	Pool *Pool
	// Ownership is written into the machines' descriptions: it distinguishes a machine of this cluster from one of a copy of
	// the stack. Pass the same to the templates. Default: nil, none. A change is made in place, without a reboot.
	Ownership *Ownership
	// MaxUnavailable is how many workers are changed at a time; control planes are always changed alone (F4, F5).
	// Default: 0, one. A change affects later runs only.
	MaxUnavailable int
	// Canary is the name of the machine that gets another image of Talos before all others. Default: none, control planes first, then workers. A
	// change affects later runs only.
	Canary string
	// CanaryPause is how long the other machines wait after the canary works again. Default: 0, they go on at once. A change
	// affects later runs only.
	CanaryPause time.Duration
	// MinReady is how long a changed machine must work before the next one may change. Default: 10 seconds. A change affects
	// later runs only.
	MinReady time.Duration
	// Snapshot keeps a snapshot of etcd before the first control plane is changed in a run; without it none is changed. Default:
	// nil, none is taken. A change affects later runs only.
	Snapshot SnapshotKeeper
	// UpgradeKubernetes upgrades the running cluster when KubernetesVersion is another one than before. Default: nil,
	// [UpgradeKubernetesByTool] in the folder of the program. A change affects later runs only.
	UpgradeKubernetes func(context.Context, KubernetesUpgrade) error
	// Unread is called with the name of each machine whose configuration changes only in images that its node does not read while it
	// runs: that of the installer, and those of the Kubernetes that the cluster is upgraded to. A preview calls it too. It may be
	// called from several goroutines. Default: nil, no call. A change affects later runs only.
	Unread func(machine string)
	// RecoveryTimeout is how long a changed node may take to work again; one that takes longer stops the run (F4).
	// Default: 15 minutes. A change affects later runs only.
	RecoveryTimeout time.Duration
	// BootTimeout is how long a machine may take from its start until its Talos takes the first configuration; it covers no
	// installation. Default: 5 minutes. A change affects later runs only.
	BootTimeout time.Duration
	// DrainTimeout is how long PodDisruptionBudgets may hold pods back from a node that is to reboot; one whose pods stay is
	// not touched. Default: 10 minutes. A change affects later runs only.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still held back then. Default: false. A change affects later runs only.
	DeleteHeldBack bool
	// Runs reports whether the machine of a VMID is switched on. It is called for nodes that do not answer: one that is off may be
	// changed; one that is unreachable prevents changes of control planes. Default: nil, a node that does not answer counts as
	// running. A change affects later runs only.
	Runs func(ctx context.Context, vmid int) (bool, error)
	// AwaitsShutdown reports whether Proxmox VE waits for the machine of a VMID to shut down, for a reboot or a stop. It is called
	// for machines that the provider starts and reboots at once, before they react to their power button: the reboot is repeated
	// once their Talos answers. Default: nil, such an update fails after twenty minutes. A change affects later runs only.
	AwaitsShutdown func(ctx context.Context, vmid int) (bool, error)
	// Interrupted is closed by an embedding when the user interrupts the run: waiting nodes are left untouched from then on. The
	// engine alone would treat them as operations in progress. Default: nil, never. A change affects later runs only.
	Interrupted <-chan struct{}
	// Refused is called in an embedding's own process with the error by which the cluster refuses changed facts of birth, before
	// anything is changed; the engine passes on only its text. It is called from another goroutine. Default: nil, no call. A
	// change affects later runs only.
	Refused func(error)
	// Patches are raw Talos machine-config patches for every node. Default: none. A change is applied in place, one node after
	// the other, with a reboot where Talos needs one.
	Patches []string
	// Templates that the machines are cloned from: one for each host, or one that the hosts share; a host's own comes first.
	// Required. A change does not affect existing nodes (F3).
	Templates []*TalosTemplate
	// FormerNames maps the name of a machine to its name in the state, so that a preview shows its replacement; before an update
	// the state must contain the new name, which em-infra up ensures. Default: nil, the state was not searched for such machines;
	// a machine with the VMID or an address of a machine of another name is then refused. A change of it alone changes nothing.
	FormerNames map[string]string
	// NewBirth returns a birth identifier for each new machine, a UUID that was never used. With it, a machine that was deleted on
	// the host is configured again when it is created again. Default: nil, no identifiers, and such a machine stays without a
	// configuration. A change does not affect existing machines.
	NewBirth func() string
	// Stands is whether the cluster and everything in it exist, and are only recorded in a state that does not have them: nothing is waited for, and
	// nothing is prepared, before something is created. Default: false. A change concerns this run only.
	Stands bool
	// AllowReplace are control planes that may be created again although no other control plane has the data of etcd: everything
	// in the cluster is lost. Its bootstrap, and what was installed in it, must have been removed from the state. Default: none. A
	// change concerns this run only.
	AllowReplace []string
	// Until is the last phase to register: with PhaseGenerate the machine secrets alone, with PhaseProvision the machines
	// without a configuration. Default: 0, all of them. A change to an earlier phase deletes what belongs to later ones.
	Until Phase
	// Machines of the cluster, with 1, 3 or 5 control planes. Etcd is bootstrapped on the first of these, so keep its place (F6).
	// Required. A change of a machine is described with its fields. A removed worker is drained first. The member of a removed control
	// plane leaves etcd first, which is refused unless the environment of the engine says which control planes stay: `em-infra up` does,
	// a program of its own sets EM_INFRA_CONTROL_PLANES=NAME=ADDRESS,… and removes one at a time.
	Machines []Machine
}

// complete returns a copy with defaults, or all that is wrong with it.
func (args *TalosClusterArgs) complete() (TalosClusterArgs, error) {
	if args == nil {
		return TalosClusterArgs{}, errors.New("args: give TalosClusterArgs")
	}
	a := *args
	if a.CNI == "" {
		a.CNI = CNIFlannel
	}
	a.DrainTimeout = cmp.Or(a.DrainTimeout, defaultDrainTimeout)
	a.BootTimeout = cmp.Or(a.BootTimeout, defaultBootTimeout)
	a.Network = a.Network.withDefaults()
	problems := []error{
		require(a.ClusterName != "", "ClusterName", "give the cluster a name"),
		a.requireEndpoint(),
		require(a.Contract != "", "Contract", "give the contract, e.g. v1.12"),
		a.requireKubernetesVersion(),
		requireSome(a.PodSubnets, "PodSubnets"),
		requireSome(a.ServiceSubnets, "ServiceSubnets"),
		requireControlPlanes(a.Machines),
		require(a.MaxUnavailable >= 0, "MaxUnavailable", "give the number of workers, 0 for one"),
		a.requireCanary(),
		require(a.CanaryPause >= 0, "CanaryPause", "give a time of 0 or more"),
		require(a.MinReady >= 0, "MinReady", "give a time of 0 or more"),
		require(!slices.Contains(a.Templates, nil), "Templates", "one of them is nil: give what NewTalosTemplate has made"),
		a.Network.validate(),
		a.requireMadeTemplates(),
		a.requireVersions(),
	}
	a.Machines = make([]Machine, len(args.Machines))
	holders := newHolders(a)
	for i, m := range args.Machines {
		a.Machines[i] = m.withDefaults()
		place := fmt.Sprintf("Machines[%d]", i)
		if err := a.Machines[i].validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
		for _, problem := range []error{a.Network.requireAddressesOf(a.Machines[i]), a.templateFor(m.Host).requireVolumesFor(a.Machines[i])} {
			if problem != nil {
				problems = append(problems, fmt.Errorf("%s: %w", place, problem))
			}
		}
		problems = append(problems, holders.add(place, a.Machines[i]))
		problems = append(problems, require(a.templateFor(m.Host) != nil, "Templates", "there is none on host "+m.Host+": add one, or share one"))
	}
	return a, errors.Join(problems...)
}

func (args TalosClusterArgs) summary() pulumi.Map {
	summary := pulumi.ToMap(args.birth().Values())
	summary["clusterName"] = pulumi.String(args.ClusterName)
	summary["endpoint"] = pulumi.String(args.Endpoint.String())
	summary["kubernetesVersion"] = pulumi.String(args.KubernetesVersion)
	return summary
}

// birth returns the facts that are fixed when the cluster is created.
func (args TalosClusterArgs) birth() birth.Facts {
	facts := birth.Facts{
		Contract: args.Contract, PodSubnets: prefixes(args.PodSubnets), ServiceSubnets: prefixes(args.ServiceSubnets), CNI: string(args.CNI),
	}
	for _, m := range args.Machines {
		facts.Machines = append(facts.Machines, m.birth())
	}
	return facts
}

func prefixes(list []netip.Prefix) []string {
	texts := make([]string, len(list))
	for i, prefix := range list {
		texts[i] = prefix.String()
	}
	return texts
}

// firstControlPlane returns the index of the machine that etcd is bootstrapped on; -1 if there is none.
func (args TalosClusterArgs) firstControlPlane() int {
	for i, m := range args.Machines {
		if m.Role == RoleControlPlane {
			return i
		}
	}
	return -1
}

// templateFor returns the template of a host, else the first shared one; nil if there is none.
func (args TalosClusterArgs) templateFor(host string) *TalosTemplate {
	var shared *TalosTemplate
	for _, template := range args.Templates {
		switch {
		case template == nil: // reported by complete
		case template.host == host:
			return template
		case shared == nil && template.shared:
			shared = template
		}
	}
	return shared
}

// newBirth returns a birth identifier for the next machine; empty without NewBirth.
func (args TalosClusterArgs) newBirth() string {
	if args.NewBirth == nil {
		return ""
	}
	return args.NewBirth()
}

func (args TalosClusterArgs) endpoints() []string {
	var endpoints []string
	for _, m := range args.Machines {
		endpoints = append(endpoints, m.endpoint())
	}
	return endpoints
}

func (args TalosClusterArgs) controlPlaneEndpoints() []string {
	var endpoints []string
	for _, m := range args.Machines {
		if m.Role == RoleControlPlane {
			endpoints = append(endpoints, m.endpoint())
		}
	}
	return endpoints
}
