package talos_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// pods records what a fleet reports about its nodes.
type pods struct {
	mu    sync.Mutex
	nodes map[int]talos.KubernetesNode
	gone  []string
	// dead is set for a Kubernetes API that does not answer.
	dead bool
}

func (p *pods) Answers(context.Context, talos.KubernetesNode) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return !p.dead
}

func (p *pods) NodeChanged(node talos.KubernetesNode) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.nodes[node.Hardware.VMID] = node
}

// Manifests returns one object that follows the machine configuration.
func (p *pods) Manifests(cfg config.Provider) ([]talos.Manifest, error) {
	return []talos.Manifest{{ID: "10-kube-proxy", Objects: []map[string]any{{
		"kind": "DaemonSet", "image": cfg.Cluster().Proxy().Image(),
	}}}}, nil
}

func (p *pods) ClusterGone(etcdCluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.gone = append(p.gone, etcdCluster)
}

func (p *pods) SetEtcdAlarms(context.Context, string, []etcd.AlarmKind) error { return nil }

func (p *pods) DefragmentEtcd(context.Context, string) error { return nil }

func (p *pods) EtcdSnapshot(context.Context, string) (io.ReadCloser, error) {
	return etcd.EmptySnapshot()
}

func (p *pods) EtcdDatabase(string) (io.ReadCloser, error) { return etcd.EmptyDatabase() }

func (p *pods) EtcdRestore(_ context.Context, _, snapshot string, skipHashCheck bool) error {
	return etcd.CheckSnapshot(snapshot, skipHashCheck)
}

func (p *pods) node(vmid int) talos.KubernetesNode {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.nodes[vmid]
}

func (p *pods) goneClusters() []string {
	p.mu.Lock()
	defer p.mu.Unlock()

	return append([]string(nil), p.gone...)
}

func TestKubernetesIsToldWhatRuns(t *testing.T) {
	t.Parallel()

	kube := &pods{nodes: map[int]talos.KubernetesNode{}}
	l := newLab(t, func(c *talos.Config) { c.Kubernetes = kube })
	c := l.cluster("k8s")

	l.install(101, c.controlPlane())
	l.eventually(func() bool { return kube.node(101).Kubelet }, "the kubelet does not run")
	require.Empty(t, kube.node(101).EtcdCluster, "it was not bootstrapped")
	require.Equal(t, "vm-101", kube.node(101).Hostname)
	require.Equal(t, "k8s", kube.node(101).Config.Cluster().Name())

	c.bootstrap(101)
	l.eventually(func() bool { return kube.node(101).EtcdCluster != "" }, "etcd does not become healthy")

	cluster := kube.node(101).EtcdCluster

	l.install(111, c.worker())
	l.eventually(func() bool { return kube.node(111).Kubelet }, "the worker's kubelet does not run")
	require.Empty(t, kube.node(111).EtcdCluster)

	require.NoError(t, l.fleet.PowerOff(101))
	require.False(t, kube.node(101).Kubelet)
	require.Empty(t, kube.node(101).EtcdCluster)
	require.Empty(t, kube.goneClusters())

	l.powerOn(101)
	l.eventually(func() bool { return kube.node(101).EtcdCluster == cluster }, "it does not come back with its etcd")

	require.NoError(t, l.fleet.Destroy(101))
	require.Equal(t, []string{cluster}, kube.goneClusters())
}
