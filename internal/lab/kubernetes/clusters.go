package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Config configures the clusters of a lab.
type Config struct {
	// Dir keeps keys, settings, logs and the contents of etcd, one folder per cluster. Required.
	Dir string
	// Tools that are run. Required.
	Tools Tools
	// Scaled returns the lab's duration for an assumed duration. Required.
	Scaled func(time.Duration) time.Duration
	// Log receives errors. Required.
	Log *slog.Logger
}

// Clusters are all Kubernetes clusters of one lab. It is safe for concurrent use.
type Clusters struct {
	config Config

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	alarms etcdAlarms

	mu       sync.Mutex
	nodes    map[int]talos.KubernetesNode // by VMID
	clusters map[string]*cluster          // by the ID of their etcd
	replaced map[string]bool              // releases that were reported as replaced by another one
}

var _ talos.Kubernetes = (*Clusters)(nil)

// New creates the folder and starts nothing. A cluster starts when one of its nodes runs.
func New(config Config) (*Clusters, error) {
	if len(config.Tools.ControlPlanes) == 0 {
		return nil, errNoControlPlanes
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the Kubernetes clusters: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	return &Clusters{
		config: config, ctx: ctx, end: end, alarms: etcdAlarms{kinds: map[string][]etcd.AlarmKind{}},
		nodes: map[int]talos.KubernetesNode{}, clusters: map[string]*cluster{}, replaced: map[string]bool{},
	}, nil
}

// NodeChanged implements [talos.Kubernetes].
func (c *Clusters) NodeChanged(node talos.KubernetesNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[node.Hardware.VMID] = node
	if id := node.EtcdCluster; id != "" && c.clusters[id] == nil && c.ctx.Err() == nil {
		started := newCluster(c, id)
		c.clusters[id] = started
		c.work.Go(started.live)
	}
	for _, cluster := range c.clusters {
		cluster.wake()
	}
}

// Answers implements [talos.Kubernetes]. It asks the control planes that the node trusts.
func (c *Clusters) Answers(ctx context.Context, node talos.KubernetesNode) bool {
	c.mu.Lock()
	var trusted []talos.KubernetesNode
	for _, other := range c.nodes {
		if other.EtcdCluster != "" && trusts(node.Config, other.Config) {
			trusted = append(trusted, other)
		}
	}
	c.mu.Unlock()
	var dialer net.Dialer
	for _, endpoint := range endpoints(trusted) {
		if connection, err := dialer.DialContext(ctx, "tcp", endpoint.String()); err == nil {
			_ = connection.Close() // nothing was written
			return true
		}
	}
	return false
}

// ClusterGone implements [talos.Kubernetes]. It ends the cluster and removes its folder.
func (c *Clusters) ClusterGone(etcdCluster string) {
	c.mu.Lock()
	gone := c.clusters[etcdCluster]
	delete(c.clusters, etcdCluster)
	c.mu.Unlock()
	c.forgetAlarms(etcdCluster)
	dir := c.dir(etcdCluster)
	c.work.Go(func() {
		if gone != nil {
			gone.end()
			<-gone.ended
		}
		if err := os.RemoveAll(dir); err != nil {
			c.config.Log.Error("remove a Kubernetes cluster", "etcd", etcdCluster, "error", err)
		}
	})
}

// Close ends all processes and waits for them. The data of etcd is kept for the next lab in that folder.
func (c *Clusters) Close() error {
	c.end()
	c.work.Wait()
	return nil
}

func (c *Clusters) dir(etcdCluster string) string { return filepath.Join(c.config.Dir, etcdCluster) }

// membership are the current members of a cluster, each list sorted by VMID.
type membership struct {
	// controlPlanes have running static pods.
	controlPlanes []talos.KubernetesNode
	// kubelets run and trust the cluster.
	kubelets []talos.KubernetesNode
}

// members returns the members of an etcd's cluster. A kubelet belongs to the cluster whose authority is in its machine
// configuration.
func (c *Clusters) members(etcdCluster string) membership {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.SortedFunc(maps.Values(c.nodes), func(a, b talos.KubernetesNode) int {
		return cmp.Compare(a.Hardware.VMID, b.Hardware.VMID)
	})
	var m membership
	for _, node := range all {
		if node.EtcdCluster == etcdCluster {
			m.controlPlanes = append(m.controlPlanes, node)
		}
	}
	if len(m.controlPlanes) == 0 {
		return m
	}
	for _, node := range all {
		if node.Kubelet && !node.Config.Machine().Kubelet().SkipNodeRegistration() && trusts(node.Config, m.controlPlanes[0].Config) {
			m.kubelets = append(m.kubelets, node)
		}
	}
	return m
}

// report logs an error of a cluster, unless it is a cancellation.
func (c *Clusters) report(etcdCluster, what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.config.Log.Error(what, "etcd", etcdCluster, "error", err)
	}
}
