package kubernetes

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// etcd returns the process of etcd. Its release depends on Talos and not on Kubernetes, so it is always that of the first build.
func (p *controlPlane) etcd() component {
	return component{
		name: "etcd", path: p.config.Tools.ControlPlanes[0].Path,
		args: append([]string{"etcd"}, etcdArguments(p.folder, p.ports)...),
	}
}

// serverComponent returns the process of an API server on a port.
func (p *controlPlane) serverComponent(i instance, port uint16) (component, error) {
	args, err := apiServerArguments(i.node.Config, p.folderOf(i.keys), p.ports, port, advertised(i.node))
	return p.named("kube-apiserver", i, args), err
}

// named returns the component of an instance. The name of its log contains the release, unless it is the one that every lab has, and the
// keys, unless they are those of the start.
func (p *controlPlane) named(name string, i instance, args []string) component {
	c := component{name: name, path: i.release.Path, args: append([]string{name}, args...)}
	if i.release != p.config.Tools.ControlPlanes[0] {
		c.name += "-" + i.release.Version
	}
	if i.keys != p.keys {
		c.name += "-" + i.keys
	}
	return c
}

// clientComponents returns the wanted processes that use the API.
func (p *controlPlane) clientComponents(wanted lineup) ([]component, error) {
	var all []component
	if i := wanted.manager; i != nil {
		args, err := controllerManagerArguments(i.node.Config, p.folderOf(i.keys), newHeartbeat(p.config.Scaled))
		if err != nil {
			return nil, err
		}
		all = append(all, p.named("kube-controller-manager", *i, args))
	}
	if i := wanted.scheduler; i != nil {
		args, err := schedulerArguments(i.node.Config, p.folderOf(i.keys))
		if err != nil {
			return nil, err
		}
		all = append(all, p.named("kube-scheduler", *i, args))
	}
	keys := p.currentKeys()
	kwok := component{name: "kwok", path: p.config.Tools.Kwok, args: kwokArguments(p.folderOf(keys))}
	if keys != p.keys {
		kwok.name += "-" + keys
	}
	return append(all, kwok), nil
}

// restartPause is the first pause of a kubelet before it restarts a container that has ended (kubernetes v1.35, pkg/kubelet/kubelet.go,
// initialBackOff). Here every pause is that long.
const restartPause = 10 * time.Second

func (p *controlPlane) tellRestart(err error) { p.config.Log.Warn("it is started again", "error", err) }

// clientProcesses are the running processes that use the API.
type clientProcesses struct {
	plane   *controlPlane
	running map[string]*process // by the name of the component
}

// operate stops those that are not wanted any more and, after their end, starts those that are missing. A process that runs keeps
// its arguments.
func (c *clientProcesses) operate(ctx context.Context, group *errgroup.Group) error {
	c.plane.mu.Lock()
	wanted := c.plane.wanted
	err := c.plane.mountAll(wanted)
	c.plane.mu.Unlock()
	if err != nil {
		return err
	}
	components, err := c.plane.clientComponents(wanted)
	if err != nil {
		return err
	}
	for name, running := range c.running {
		if !slices.ContainsFunc(components, func(wanted component) bool { return wanted.name == name }) {
			running.stop()
			<-running.done
			delete(c.running, name)
		}
	}
	for _, wanted := range components {
		if c.running[wanted.name] == nil {
			c.running[wanted.name] = keep(ctx, group, wanted, c.plane.folder.path(), max(c.plane.config.Scaled(restartPause), readyInterval), c.plane.tellRestart)
		}
	}
	return nil
}
