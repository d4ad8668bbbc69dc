package talos

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/config"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// Kubernetes is told what Talos does for Kubernetes on the nodes of a fleet: it runs kubelets and static pods. Its
// methods are called from within a node's work, so they return at once.
type Kubernetes interface {
	// NodeChanged says how a node stands; it may say the same again.
	NodeChanged(node KubernetesNode)
	// Answers reports whether a Kubernetes API of the node's cluster answers.
	Answers(ctx context.Context, node KubernetesNode) bool
	// ClusterGone says that no data directory of an etcd cluster is left, so that nothing will ask for it again.
	ClusterGone(etcdCluster string)
}

// KubernetesNode is what Kubernetes depends on in a node.
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
	// Kubelet says that the kubelet runs.
	Kubelet bool
	// StaticPods are the versions of what the static pods of a control plane run by.
	StaticPods StaticPodVersions
	// EtcdCluster identifies the etcd cluster that the node is a healthy member of; its static pods run then. "" for
	// every other node.
	EtcdCluster string
}

// podServices are those services of a system that Kubernetes depends on.
type podServices struct {
	kubelet bool // runs
	etcd    bool // runs and is healthy
	static  bool // the control plane's pods have started
}

// followPodServices notes a change of a service, and tells it when Kubernetes depends on it.
func (s *system) followPodServices(c service.Change) {
	s.mu.Lock()
	before := s.pods

	switch c.ID {
	case kubelet:
		s.pods.kubelet = c.State == service.Running
	case "etcd":
		s.pods.etcd = c.State == service.Running && c.Health != nil && c.Health.GetHealthy()
	}

	changed := s.pods != before
	s.mu.Unlock()

	if changed {
		s.tellKubernetes()
	}
}

// losePods is the end of the system: nothing runs any more.
func (s *system) losePods() {
	s.mu.Lock()
	had := s.pods != podServices{}
	s.pods = podServices{}
	s.mu.Unlock()

	if had {
		s.tellKubernetes()
	}
}

// tellKubernetes says how the node stands.
func (s *system) tellKubernetes() {
	s.telling.Lock() // what is said last is how it is
	defer s.telling.Unlock()

	if node, known := s.kubernetesNode(); known {
		s.fleet.config.Kubernetes.NodeChanged(node)
	}
}

// kubernetesNode is how the node stands; false for one without a configuration.
func (s *system) kubernetesNode() (_ KubernetesNode, known bool) {
	s.mu.Lock()
	pods, cfg := s.pods, s.active
	s.mu.Unlock()

	if cfg == nil {
		return KubernetesNode{}, false
	}

	n, err := s.network(cfg)
	if err != nil {
		return KubernetesNode{}, false // a node without a sound name never got as far as to run anything
	}

	node := KubernetesNode{
		Hardware: s.hardware.clone(), Hostname: n.hostname, FQDN: n.fqdn(), Config: cfg, Release: s.release.clone(),
		Identity: s.nodeID(), BootID: s.bootID, Kubelet: pods.kubelet,
		StaticPods: s.staticPodVersions(),
	}

	if data := s.etcdData(); pods.etcd && pods.static && !data.Empty() {
		node.EtcdCluster = etcd.FormatID(data.Cluster)
	}

	return node, true
}

// noKubernetes is a lab whose nodes run no pods.
type noKubernetes struct{}

func (noKubernetes) NodeChanged(KubernetesNode) {}

func (noKubernetes) Answers(context.Context, KubernetesNode) bool { return true }

func (noKubernetes) ClusterGone(string) {}
