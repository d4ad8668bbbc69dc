package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// readyInterval is how often a starting API server is checked.
const readyInterval = 200 * time.Millisecond

// controlPlane has the processes of one cluster, from their start to their end.
type controlPlane struct {
	folder folder
	config Config
	nodes  []talos.KubernetesNode // the control planes at the start; the first one's configuration is used
	ports  ports
	// gate is the address of the API for the processes and the emulated kubelets. It leads to the oldest API server.
	gate    *forwarder
	changed chan struct{} // holds one notification that other processes may be wanted
	// prepared is closed when the ports are chosen and the files written. etcdAnswers is whether etcd has answered since.
	prepared    chan struct{}
	etcdAnswers atomic.Bool

	keys string // the [fingerprint] of the configuration at the start

	mu      sync.Mutex
	wanted  lineup
	servers []*apiServer        // the oldest release first
	others  []keySet            // with other keys than those of the start
	names   secrets.CertSANSpec // in the API servers' certificates

	accessLock sync.Mutex
	accesses   map[string]access // by the keys

	accountsLock chan struct{} // has an item while a control plane serves the accounts for the Talos API
}

// ports are the processes' ports on 127.0.0.1.
type ports struct{ etcdClient, etcdPeer uint16 }

func newControlPlane(dir string, config Config, nodes []talos.KubernetesNode) *controlPlane {
	return &controlPlane{
		folder: folder(dir), config: config, nodes: nodes, keys: fingerprint(nodes[0].Config), accesses: map[string]access{}, changed: make(chan struct{}, 1), accountsLock: make(chan struct{}, 1), prepared: make(chan struct{}),
	}
}

// run starts etcd and the processes that are wanted, calls ready whenever an API server is ready, and returns when a process ended by
// itself or the context has ended.
func (p *controlPlane) run(ctx context.Context, ready func()) (err error) {
	p.gate, err = forward(local(0), p.oldest)
	if err != nil {
		return err
	}
	defer p.gate.close()
	if err := p.prepare(); err != nil {
		return fmt.Errorf("prepare the Kubernetes control plane: %w", err)
	}
	close(p.prepared)
	group, ctx := errgroup.WithContext(ctx)
	start(ctx, group, p.etcd(), p.folder.path())
	group.Go(func() error { return p.operate(ctx, group, ready) })
	return group.Wait()
}

// operate starts and stops processes as they are wanted, until the context ends.
func (p *controlPlane) operate(ctx context.Context, group *errgroup.Group, ready func()) error {
	clients := clientProcesses{plane: p, running: map[string]*process{}}
	for {
		if err := p.operateServers(ctx, group, ready); err != nil {
			return fmt.Errorf("prepare the Kubernetes control plane: %w", err)
		}
		if _, serves := p.oldest(); serves {
			if err := clients.operate(ctx, group); err != nil {
				return fmt.Errorf("prepare the Kubernetes control plane: %w", err)
			}
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prepare chooses the ports and writes the files.
func (p *controlPlane) prepare() error {
	free, err := freePorts(2)
	if err != nil {
		return err
	}
	p.ports = ports{etcdClient: free[0], etcdPeer: free[1]}
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
	_, err = p.accessWith(p.keys)
	return err
}

// newClient returns a client without client-side rate limiting.
func newClient(config *rest.Config) (*kubernetes.Clientset, error) {
	config.QPS, config.Timeout = -1, 10*time.Second
	return kubernetes.NewForConfig(config)
}

// renew writes certificates for the API servers when the names or addresses of the control planes have changed. An API server reloads
// its certificate by itself.
func (p *controlPlane) renew(nodes []talos.KubernetesNode) error {
	names, err := servingNames(nodes)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if reflect.DeepEqual(names, p.names) {
		return nil
	}
	errs := []error{p.folder.writeServingCertificate(p.nodes[0].Config, names)}
	for _, other := range p.others {
		errs = append(errs, other.folder.writeServingCertificate(other.config, names))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p.names = names
	return nil
}

// api returns the address of the API for the lab's own processes.
func (p *controlPlane) api() netip.AddrPort { return p.gate.address() }

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

// freePorts returns different free ports. If one is in use by the time it is needed, the control plane fails and is started again
// with others.
func freePorts(count int) ([]uint16, error) {
	var chosen []uint16
	for range count {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(local(0)))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() // close all at the end, so that no port is returned twice
		chosen = append(chosen, listener.Addr().(*net.TCPAddr).AddrPort().Port())
	}
	return chosen, nil
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
	return atomicfile.Write(path, content, 0o600)
}
