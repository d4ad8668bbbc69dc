package kubernetes

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll"
)

// apiServer is a running API server.
type apiServer struct {
	*process
	instance
	address netip.AddrPort
	ready   bool
}

// want sets the processes that are to run.
func (p *controlPlane) want(wanted lineup) {
	p.mu.Lock()
	p.wanted = wanted
	p.mu.Unlock()
	p.wake()
}

// wake makes the control plane compare its processes with those that are wanted.
func (p *controlPlane) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // a notification is already pending
	}
}

// operateServers stops the API servers that no control plane runs any more, and starts those that are missing. A new one comes after those
// of the same release with other keys.
func (p *controlPlane) operateServers(ctx context.Context, group *errgroup.Group, ready func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = slices.DeleteFunc(p.servers, func(s *apiServer) bool {
		stays := slices.ContainsFunc(p.wanted.servers, s.isSame)
		if !stays {
			s.stop()
		}
		return !stays
	})
	if err := p.mountAll(p.wanted); err != nil {
		return err
	}
	for _, wanted := range p.wanted.servers {
		if slices.ContainsFunc(p.servers, func(s *apiServer) bool { return s.isSame(wanted) }) {
			continue
		}
		started, err := p.startServer(ctx, group, wanted, ready)
		if err != nil {
			return err
		}
		p.servers = append(p.servers, started)
	}
	slices.SortStableFunc(p.servers, func(a, b *apiServer) int { return older(a.release, b.release) })
	return nil
}

// startServer starts an API server, and calls ready when it is ready.
func (p *controlPlane) startServer(ctx context.Context, group *errgroup.Group, wanted instance, ready func()) (*apiServer, error) {
	free, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	port := free[0]
	c, err := p.serverComponent(wanted, port)
	if err != nil {
		return nil, err
	}
	own, err := p.accessWith(wanted.keys)
	if err != nil {
		return nil, err
	}
	direct := rest.CopyConfig(own.rest)
	direct.Host = "https://" + local(port).String()
	client, err := kubernetes.NewForConfig(direct)
	if err != nil {
		return nil, err
	}
	s := &apiServer{instance: wanted, address: local(port), process: start(ctx, group, c, p.folder.path())}
	group.Go(func() error {
		if untilReady(s.ctx, client) != nil {
			return ctx.Err() // nil if only this one was stopped
		}
		p.mu.Lock()
		s.ready = true
		p.mu.Unlock()
		p.wake()
		ready()
		return nil
	})
	return s, nil
}

// untilReady waits until an API server is ready, without a limit of its own. The error is that of the context.
func untilReady(ctx context.Context, client *kubernetes.Clientset) error {
	return poll.Until(ctx, readyInterval, func(ctx context.Context) (bool, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}

// serves returns the address of an API server; false while it is not ready.
func (p *controlPlane) serves(wanted instance) (netip.AddrPort, bool) {
	return p.serving(func(s *apiServer) bool { return s.isSame(wanted) })
}

// oldest returns the address of the oldest API server that is ready; false if none is. A controller manager must not be newer than
// the API server that it uses, and it is the last to be upgraded.
func (p *controlPlane) oldest() (netip.AddrPort, bool) {
	return p.serving(func(*apiServer) bool { return true })
}

func (p *controlPlane) serving(is func(*apiServer) bool) (netip.AddrPort, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		if s.ready && is(s) {
			return s.address, true
		}
	}
	return netip.AddrPort{}, false
}

// targets returns where each address of the API leads. An address of one control plane leads to the API server of its release and keys. An
// address that control planes share leads to the API server of the first of them that is ready. targets also marks the control planes
// whose API server is still starting.
func (p *controlPlane) targets(runs []staticPodRun) map[netip.AddrPort]netip.AddrPort {
	targets := map[netip.AddrPort]netip.AddrPort{}
	for i, run := range runs {
		if run.crashes {
			continue
		}
		target, ready := p.serves(newInstance(p.config.Tools.releaseOf(run.node.Config.Cluster().APIServer().Image()), run.node))
		runs[i].starts = !ready
		if !ready {
			continue
		}
		for _, address := range endpoints([]talos.KubernetesNode{run.node}) {
			if _, taken := targets[address]; !taken {
				targets[address] = target
			}
		}
	}
	return targets
}
