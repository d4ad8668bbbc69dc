package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll"
)

// readyInterval is how often a starting API server is checked.
const readyInterval = 200 * time.Millisecond

// controlPlane has the processes of one cluster, from their start to their end.
type controlPlane struct {
	folder folder
	config Config
	nodes  []talos.KubernetesNode // the control planes at the start; the first one's configuration is used
	ports  ports

	// The fields below are valid once the API is ready.
	admin *kubernetes.Clientset
	rest  *rest.Config // of admin
	names string       // in the API server's certificate
}

// ports are the processes' ports on 127.0.0.1.
type ports struct{ etcdClient, etcdPeer, api uint16 }

func newControlPlane(dir string, config Config, nodes []talos.KubernetesNode) *controlPlane {
	return &controlPlane{folder: folder(dir), config: config, nodes: nodes}
}

// run starts the processes, calls ready when the API is ready, and returns when a process or the context has ended.
func (p *controlPlane) run(ctx context.Context, ready func()) error {
	if err := p.prepare(); err != nil {
		return fmt.Errorf("prepare the Kubernetes control plane: %w", err)
	}
	first, rest, err := p.components()
	if err != nil {
		return fmt.Errorf("prepare the Kubernetes control plane: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	start := func(components []component) {
		for _, c := range components {
			group.Go(func() error { return c.run(ctx, p.folder.path()) })
		}
	}
	start(first)
	group.Go(func() error {
		if err := p.untilReady(ctx); err != nil {
			return err
		}
		start(rest)
		ready()
		return nil
	})
	return group.Wait()
}

// prepare chooses the ports and writes the files.
func (p *controlPlane) prepare() (err error) {
	if p.ports, err = freePorts(); err != nil {
		return err
	}
	if err := p.folder.make(); err != nil {
		return err
	}
	cfg := p.nodes[0].Config
	if err := errors.Join(p.folder.writeSecrets(cfg), p.folder.writeSettings(cfg), p.renew(p.nodes)); err != nil {
		return err
	}
	if err := p.folder.writeKubeconfigs(cfg, p.api()); err != nil {
		return err
	}
	p.rest, err = clientcmd.BuildConfigFromFlags("", p.folder.secret("admin.kubeconfig"))
	if err != nil {
		return err
	}
	p.admin, err = newClient(p.rest)
	return err
}

// newClient returns a client without client-side rate limiting.
func newClient(config *rest.Config) (*kubernetes.Clientset, error) {
	config.QPS, config.Timeout = -1, 10*time.Second
	return kubernetes.NewForConfig(config)
}

// components returns the processes that the API needs, and those that need the API.
func (p *controlPlane) components() (first, rest []component, err error) {
	cfg, tool := p.nodes[0].Config, p.config.Tools.ControlPlane
	api, apiErr := apiServerArguments(cfg, p.folder, p.ports, advertised(p.nodes[0]))
	manager, managerErr := controllerManagerArguments(cfg, p.folder, newHeartbeat(p.config.Scaled))
	scheduler, schedulerErr := schedulerArguments(cfg, p.folder)
	if err := errors.Join(apiErr, managerErr, schedulerErr); err != nil {
		return nil, nil, err
	}
	first = []component{
		{name: "etcd", path: tool, args: append([]string{"etcd"}, etcdArguments(p.folder, p.ports)...)},
		{name: "kube-apiserver", path: tool, args: append([]string{"kube-apiserver"}, api...)},
	}
	if !cfg.Machine().Controlplane().ControllerManager().Disabled() {
		rest = append(rest, component{
			name: "kube-controller-manager", path: tool, args: append([]string{"kube-controller-manager"}, manager...),
		})
	}
	if !cfg.Machine().Controlplane().Scheduler().Disabled() {
		rest = append(rest, component{name: "kube-scheduler", path: tool, args: append([]string{"kube-scheduler"}, scheduler...)})
	}
	return first, append(rest, component{name: "kwok", path: p.config.Tools.Kwok, args: kwokArguments(p.folder)}), nil
}

// untilReady waits until the API server is ready, without a limit of its own.
func (p *controlPlane) untilReady(ctx context.Context) error {
	return poll.Until(ctx, readyInterval, func(ctx context.Context) (bool, error) {
		return p.admin.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}

// renew writes a certificate for the API server when the names or addresses of the control planes have changed. The API
// server reloads it by itself.
func (p *controlPlane) renew(nodes []talos.KubernetesNode) error {
	names, err := servingNames(nodes)
	if err != nil {
		return err
	}
	if text := fmt.Sprint(names.DNSNames, names.IPs); text != p.names {
		if err := p.folder.writeServingCertificate(nodes[0].Config, names); err != nil {
			return err
		}
		p.names = text
	}
	return nil
}

// api returns the address of the API server.
func (p *controlPlane) api() netip.AddrPort { return local(p.ports.api) }

func local(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// advertised returns the address that the API server advertises: that of the first control plane.
func advertised(node talos.KubernetesNode) netip.Addr {
	if addresses := nodeAddresses(node); len(addresses) > 0 {
		return addresses[0]
	}
	return local(0).Addr()
}

// freePorts returns three free ports. If one is in use by the time it is needed, the control plane fails and is started again
// with others.
func freePorts() (ports, error) {
	var chosen [3]uint16
	for i := range chosen {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(local(0)))
		if err != nil {
			return ports{}, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() // close all at the end, so that no port is returned twice
		chosen[i] = listener.Addr().(*net.TCPAddr).AddrPort().Port()
	}
	return ports{etcdClient: chosen[0], etcdPeer: chosen[1], api: chosen[2]}, nil
}

// folder is the folder of a cluster.
type folder string

func (f folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// secret returns the path of a key, a certificate or a kubeconfig.
func (f folder) secret(name string) string { return f.path("secrets", name) }

// setting returns the path of a configuration file.
func (f folder) setting(name string) string { return f.path("settings", name) }

func (f folder) make() error {
	var errs []error
	for _, dir := range []string{f.path("secrets"), f.path("settings"), f.path("etcd")} {
		errs = append(errs, os.MkdirAll(dir, 0o700))
	}
	return errors.Join(errs...)
}

// write replaces a file atomically. Only its owner can read it.
func write(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
