package talos

import (
	"context"
	"io"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// Kubernetes receives what Talos does for Kubernetes on the nodes of a fleet: it runs kubelets and static pods. The methods
// are called during a node's work, so they must return at once.
type Kubernetes interface {
	// NodeChanged passes the state of a node. It may be called with an unchanged state.
	NodeChanged(node KubernetesNode)
	// Answers reports whether a Kubernetes API of the node's cluster answers.
	Answers(ctx context.Context, node KubernetesNode) bool
	// Manifests returns the manifests that Talos creates for the machine configuration of a control plane.
	Manifests(cfg config.Provider) ([]Manifest, error)
	// ClusterGone is called when the last data directory of an etcd cluster is gone, so that it is never used again.
	ClusterGone(etcdCluster string)
	// EtcdSnapshot returns a snapshot of the data of an etcd cluster: a database of bbolt with its SHA-256 behind it.
	EtcdSnapshot(ctx context.Context, etcdCluster string) (io.ReadCloser, error)
	// EtcdDatabase returns the data file of an etcd cluster, which an etcd that runs may be writing.
	EtcdDatabase(etcdCluster string) (io.ReadCloser, error)
	// EtcdRestore makes the data of a new etcd cluster, which does not run yet, from the snapshot in a file. Unless skipHashCheck, the
	// snapshot must end with its SHA-256.
	EtcdRestore(ctx context.Context, etcdCluster, snapshot string, skipHashCheck bool) error
	// SetEtcdAlarms sets the alarms of an etcd cluster to these kinds: with NOSPACE it takes no writes, with CORRUPT it refuses
	// requests.
	SetEtcdAlarms(ctx context.Context, etcdCluster string, kinds []etcd.AlarmKind) error
	// DefragmentEtcd rewrites the database of an etcd cluster without its free pages.
	DefragmentEtcd(ctx context.Context, etcdCluster string) error
}

// KubernetesNode is the state of a node that matters for Kubernetes.
type KubernetesNode struct {
	// Hardware of the machine; its VMID identifies the node.
	Hardware Hardware
	// Hostname is the node's name, without a domain, and FQDN the name with it.
	Hostname, FQDN string
	// Config is the active machine configuration, nil for a node that has none.
	Config config.Provider
	// Release of Talos that runs.
	Release Release
	// Identity of the node in its cluster, and of its boot.
	Identity, BootID string
	// Kubelet reports whether the kubelet runs. KubeletStarts is how often it was started in this boot: a restart may be over before
	// an observer sees that the kubelet does not run.
	Kubelet       bool
	KubeletStarts int
	// KubeletImage is the image with which the kubelet was started last in this boot. The machine configuration may name another
	// one already.
	KubeletImage string
	// StaticPods are the versions of the inputs of a control plane's static pods.
	StaticPods StaticPodVersions
	// EtcdCluster is the ID of the etcd cluster of which the node is a healthy member, with its static pods running. "" for
	// every other node.
	EtcdCluster string
}

// podServices is the state of the services that matter for Kubernetes.
type podServices struct {
	kubelet bool   // runs
	starts  int    // of the kubelet
	image   string // of the kubelet, at its last start
	etcd    bool   // runs and is healthy
	static  bool   // the control plane's pods have started
}

// followPodServices records a change of a service, and passes it on if it matters for Kubernetes.
func (s *system) followPodServices(c service.Change) {
	s.mu.Lock()
	before := s.pods

	switch c.ID {
	case kubelet:
		s.pods.kubelet = c.State == service.Running
		if s.pods.kubelet && !before.kubelet {
			s.pods.starts++
			s.pods.image = s.active.Machine().Kubelet().Image()
		}
	case "etcd":
		s.pods.etcd = c.State == service.Running && c.Health != nil && c.Health.GetHealthy()
	}

	changed := s.pods != before
	s.mu.Unlock()

	if changed {
		s.tellKubernetes()
	}
}

// losePods records the end of the system: nothing runs any more.
func (s *system) losePods() {
	s.mu.Lock()
	had := s.pods != podServices{}
	s.pods = podServices{}
	s.mu.Unlock()

	if had {
		s.tellKubernetes()
	}
}

// tellKubernetes passes the node's current state on.
func (s *system) tellKubernetes() {
	s.telling.Lock() // one at a time, so that the last call has the current state
	defer s.telling.Unlock()

	if node, known := s.kubernetesNode(); known {
		s.fleet.config.Kubernetes.NodeChanged(node)
	}
}

// kubernetesNode returns the node's state; known is false for a node without a configuration.
func (s *system) kubernetesNode() (_ KubernetesNode, known bool) {
	s.mu.Lock()
	pods, cfg := s.pods, s.active
	s.mu.Unlock()

	if cfg == nil {
		return KubernetesNode{}, false
	}

	n, err := s.network(cfg)
	if err != nil {
		return KubernetesNode{}, false // a node without a valid name has never run anything
	}

	node := KubernetesNode{
		Hardware: s.hardware.clone(), Hostname: n.hostname, FQDN: n.fqdn(), Config: cfg, Release: s.release.clone(),
		Identity: s.nodeID(), BootID: s.bootID, Kubelet: pods.kubelet, KubeletStarts: pods.starts,
		KubeletImage: pods.image, StaticPods: s.staticPodVersions(),
	}

	if data := s.etcdData(); pods.etcd && pods.static && !data.Empty() {
		node.EtcdCluster = etcd.FormatID(data.Cluster)
	}

	return node, true
}

// noKubernetes is used by a lab whose nodes run no pods.
type noKubernetes struct{}

func (noKubernetes) NodeChanged(KubernetesNode) {}

func (noKubernetes) Answers(context.Context, KubernetesNode) bool { return true }

func (noKubernetes) Manifests(config.Provider) ([]Manifest, error) { return nil, nil }

func (noKubernetes) ClusterGone(string) {}

// EtcdSnapshot returns the snapshot of an etcd without a key: nothing has written to it.
func (noKubernetes) EtcdSnapshot(context.Context, string) (io.ReadCloser, error) {
	return etcd.EmptySnapshot()
}

// EtcdDatabase returns the data file of an etcd without a key.
func (noKubernetes) EtcdDatabase(string) (io.ReadCloser, error) { return etcd.EmptyDatabase() }

// EtcdRestore only checks the snapshot: nothing reads what is in it.
func (noKubernetes) EtcdRestore(_ context.Context, _, snapshot string, skipHashCheck bool) error {
	return etcd.CheckSnapshot(snapshot, skipHashCheck)
}

func (noKubernetes) SetEtcdAlarms(context.Context, string, []etcd.AlarmKind) error { return nil }

func (noKubernetes) DefragmentEtcd(context.Context, string) error { return nil }
