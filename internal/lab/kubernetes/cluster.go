package kubernetes

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// retryDelay is the delay before a failed control plane is started again, and before what failed while it serves is tried again.
const retryDelay = 2 * time.Second

// cluster is one Kubernetes cluster. It runs while one of its control planes runs.
type cluster struct {
	clusters *Clusters
	id       string
	dir      string

	ctx     context.Context
	end     context.CancelFunc
	ended   chan struct{}
	changed chan struct{}                // holds one notification that the membership may have changed
	plane   atomic.Pointer[controlPlane] // the one that runs or starts; nil for none

	// The fields below are used by live only.
	front    *front
	kubelets map[int]*kubelet // by VMID
	pods     *staticPodRuns
}

func newCluster(c *Clusters, id string) *cluster {
	ctx, end := context.WithCancel(c.ctx)
	started := &cluster{
		clusters: c, id: id, dir: c.dir(id), ctx: ctx, end: end,
		ended: make(chan struct{}), changed: make(chan struct{}, 1),
		front: newFront(), kubelets: map[int]*kubelet{},
	}
	started.pods = newStaticPodRuns(started)
	return started
}

// wake makes the cluster check its members again.
func (c *cluster) wake() {
	select {
	case c.changed <- struct{}{}:
	default: // a notification is already pending
	}
}

// live runs the control plane whenever there is a member that can, until the context ends.
func (c *cluster) live() {
	defer close(c.ended)
	defer c.end()
	for c.ctx.Err() == nil {
		if m := c.members(); len(m.controlPlanes) > 0 {
			if err := c.run(m); err != nil && c.ctx.Err() == nil {
				c.clusters.report(c.id, "the Kubernetes control plane stopped; it is started again", err)
				c.pause()
			}
			continue
		}
		select {
		case <-c.changed:
		case <-c.ctx.Done():
		}
	}
}

func (c *cluster) members() membership { return c.clusters.members(c.id) }

func (c *cluster) pause() {
	select {
	case <-time.After(retryDelay):
	case <-c.ctx.Done():
	}
}

// run runs the processes from their start until they end, or until the last control plane stops.
func (c *cluster) run(m membership) error {
	ctx, stop := context.WithCancel(c.ctx)
	runs := c.pods.follow(ctx, m.controlPlanes)
	plane := newControlPlane(c.dir, c.clusters.config, soundFirst(runs))
	plane.want(c.clusters.config.Tools.lineup(runs))
	c.plane.Store(plane)
	failed := make(chan error, 1)
	go func() { failed <- plane.run(ctx, c.wake) }()
	var work manifestWork
	work.group.Go(func() { c.clusters.watchEtcd(ctx, c.id, plane) })
	defer func() {
		c.plane.Store(nil)
		stop()
		work.group.Wait()
		c.front.close()
		c.stopKubelets()
	}()

	serving := false
	for {
		select {
		case err := <-failed:
			stop()
			return err
		case <-c.changed:
		}
		m = c.members()
		if len(m.controlPlanes) == 0 || ctx.Err() != nil {
			c.front.close()
			stop()
			return ignoreCanceled(<-failed)
		}
		if _, ready := plane.oldest(); ready && !serving {
			serving = true
		}
		if serving {
			c.serve(ctx, &work, plane, m)
		}
	}
}

// serve updates the addresses of the API and the running kubelets. Longer tasks are started as work and end with ctx.
func (c *cluster) serve(ctx context.Context, work *manifestWork, plane *controlPlane, m membership) {
	c.retryAfter(plane.renew(m.controlPlanes), "renew the certificate of the Kubernetes API")
	runs := c.pods.follow(ctx, m.controlPlanes)
	plane.want(c.clusters.config.Tools.lineup(runs))
	c.clusters.reportReplaced(runs)
	c.retryAfter(c.front.serve(plane.targets(runs)), "open the Kubernetes API")
	c.stopKubelets(m.kubelets...)
	for _, node := range m.kubelets {
		if c.kubelets[node.Hardware.VMID] == nil {
			c.kubelets[node.Hardware.VMID] = startKubelet(c.ctx, plane, node, c.clusters.config)
		}
		c.kubelets[node.Hardware.VMID].static.Store(runOf(runs, node.Hardware.VMID))
	}
	work.begin(ctx, m.controlPlanes, func(ctx context.Context, node talos.KubernetesNode) {
		report := func(err error) { c.clusters.report(c.id, "apply the manifests of Talos", err) }
		plane.applyManifests(ctx, node, report)
		plane.serveTalosAccounts(ctx, node, report)
	})
	c.retryAfter(plane.orphan(c.ctx, c.hostnames()), "mark the Nodes whose kubelets stand still")
}

// retryAfter logs an error of serve. After a delay serve runs again, even if no member has changed.
func (c *cluster) retryAfter(err error, what string) {
	if err != nil {
		c.clusters.report(c.id, what, err)
		time.AfterFunc(retryDelay, c.wake)
	}
}

// stopKubelets stops the kubelets that are not among the nodes, or whose configuration has changed.
func (c *cluster) stopKubelets(nodes ...talos.KubernetesNode) {
	for vmid, running := range c.kubelets {
		stays := slices.ContainsFunc(nodes, func(n talos.KubernetesNode) bool { return running.plays(n) })
		if !stays {
			running.stop()
			delete(c.kubelets, vmid)
		}
	}
}

// hostnames returns the names of the nodes whose kubelets run.
func (c *cluster) hostnames() []string {
	var names []string
	for _, running := range c.kubelets {
		names = append(names, running.node.Hostname)
	}
	slices.Sort(names)
	return names
}

// endpoints returns the addresses of the API: each control plane's own ones, their virtual ones, and the endpoint in the
// machine configuration if it is on loopback.
func endpoints(controlPlanes []talos.KubernetesNode) []netip.AddrPort {
	var all []netip.AddrPort
	for _, node := range controlPlanes {
		port := uint16(node.Config.Cluster().LocalAPIServerPort())
		for _, address := range slices.Concat(nodeAddresses(node), virtualAddresses(node.Config)) {
			all = append(all, netip.AddrPortFrom(address, port))
		}
		if endpoint, err := netip.ParseAddrPort(node.Config.Cluster().Endpoint().Host); err == nil {
			all = append(all, endpoint)
		}
	}
	all = slices.DeleteFunc(all, func(a netip.AddrPort) bool { return !a.Addr().IsLoopback() || !a.Addr().Is4() })
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}
