package talos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/lab/talos/apid"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// serve is an installed and configured node: it takes up its configuration, gets its certificates, opens the secure API
// and starts its services. It ends with the context.
func (s *system) serve(ctx context.Context, cfg config.Provider) error {
	if err := s.persist(cfg); err != nil {
		return err
	}

	if err := s.activate(cfg); err != nil {
		return fmt.Errorf("take up the machine configuration: %w", err)
	}

	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	s.announce(cfg, n)
	s.inBackground(func(ctx context.Context) error { return s.followCluster(ctx, cfg) })

	if err := s.openSecureAPI(ctx, cfg, n); err != nil {
		return err
	}

	s.vm.setStage(StageRunning)

	if err := s.startServices(ctx, cfg); err != nil {
		return err
	}

	<-ctx.Done()

	return ctx.Err()
}

// persist writes a configuration to a disk that has none, which is one whose state was wiped.
func (s *system) persist(cfg config.Provider) error {
	d := s.installed()
	if d.config() != nil {
		return nil
	}

	identity, err := randomNodeID(s.fleet.config.Rand)
	if err != nil {
		return err
	}

	return errors.Join(d.change(func(c *contents) { c.Identity = identity }), d.writeConfig(cfg))
}

// activate makes a configuration the one that the node runs by.
func (s *system) activate(cfg config.Provider) error {
	s.mu.Lock()
	s.active = cfg
	s.mu.Unlock()

	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	persistent := s.installedConfig()
	if persistent == nil {
		persistent = cfg
	}

	return errors.Join(
		s.publishConfig(configres.ActiveID, cfg),
		s.publishConfig(configres.PersistentID, persistent),
		put(s, configres.NewMachineType(), func(r *configres.MachineType) { r.SetMachineType(cfg.Machine().Type()) }),
		put(s, cluster.NewIdentity(cluster.NamespaceName, cluster.LocalIdentity), func(r *cluster.Identity) {
			r.TypedSpec().NodeID = s.nodeID()
		}),
		put(s, cluster.NewInfo(), func(r *cluster.Info) {
			r.TypedSpec().ClusterID, r.TypedSpec().ClusterName = cfg.Cluster().ID(), cfg.Cluster().Name()
		}),
		put(s, k8s.NewNodename(k8s.NamespaceName, k8s.NodenameID), func(r *k8s.Nodename) {
			r.TypedSpec().Nodename = n.hostname
			r.TypedSpec().SkipNodeRegistration = cfg.Machine().Kubelet().SkipNodeRegistration()
		}),
		s.publishNetwork(n),
	)
}

// publishConfig replaces the configuration resource as a whole, since its content cannot be changed in place.
func (s *system) publishConfig(id string, cfg config.Provider) error {
	r := configres.NewMachineConfigWithID(cfg, id)

	if err := withdraw(s, r); err != nil {
		return err
	}

	if err := s.resources.Create(s.ctx, r); err != nil {
		return fmt.Errorf("publish the machine configuration: %w", err)
	}

	return nil
}

func (s *system) network(cfg config.Provider) (nodeNetwork, error) {
	return networkOf(s.hardware, cfg, s.nodeID())
}

// inBackground runs work until the system stops; what ends it earlier goes into the log.
func (s *system) inBackground(work func(context.Context) error) {
	s.background.Go(func() {
		if err := work(s.ctx); err != nil && s.ctx.Err() == nil {
			s.vm.note(StepServices, err, s.fleet.config.Now())
		}
	})
}

func (s *system) followCluster(ctx context.Context, cfg config.Provider) error {
	key, ok := clusterKey(cfg)
	if !ok {
		return nil
	}

	return s.followDiscovery(ctx, key)
}

// openSecureAPI gets the node's certificates, for which a worker waits until a control plane signs, and opens the API.
func (s *system) openSecureAPI(ctx context.Context, cfg config.Provider, n nodeNetwork) error {
	if err := errors.Join(
		s.services.Set("apid", service.Waiting, "Waiting for api certificates"),
		s.vm.step(ctx, StepCertificate, 0),
	); err != nil {
		return err
	}

	certificates, err := s.issue(ctx, cfg, n)
	if err != nil {
		return err
	}

	creds := &keyring{}
	creds.current.Store(certificates)

	config, err := creds.serverConfig()
	if err != nil {
		return err
	}

	listeners, err := s.listen(ctx, n.own())
	if err != nil {
		return err
	}

	machined := s.startMachined()

	front, err := apid.Serve(apid.Options{
		Listeners: listeners.All(), TLS: config, Forward: creds.forwardConfig(), Port: s.fleet.config.Port,
		Machined: machined.connect, IsLocal: n.isLocal, Guard: (&guard{vm: s.vm, listeners: listeners}).stream,
	})
	if err != nil {
		return err
	}

	s.setFront(front)
	s.inBackground(func(ctx context.Context) error { return s.renew(ctx, creds) })

	return s.services.Start("apid")
}

func (s *system) issue(ctx context.Context, cfg config.Provider, n nodeNetwork) (*issued, error) {
	who := subjectOf(cfg, n)

	if cfg.Machine().Type().IsControlPlane() {
		return issueOwn(cfg, who, s.fleet.config.Now())
	}

	return s.issueRemote(ctx, cfg, who)
}

// renew replaces the certificates half way through their time, which is real time: the clients are real.
func (s *system) renew(ctx context.Context, creds *keyring) error {
	for {
		select {
		case <-time.After(x509.DefaultCertificateValidityDuration / 2):
		case <-ctx.Done():
			return ctx.Err()
		}

		cfg := s.config()

		n, err := s.network(cfg)
		if err != nil {
			return err
		}

		certificates, err := s.issue(ctx, cfg, n)
		if err != nil {
			return err
		}

		creds.current.Store(certificates)
	}
}

// startServices is the boot sequence after the API is open: container runtime, kubelet and on a control plane trustd
// and etcd.
func (s *system) startServices(ctx context.Context, cfg config.Provider) error {
	controlPlane := cfg.Machine().Type().IsControlPlane()

	if controlPlane {
		s.joinTrust(authorityOf(cfg))

		if err := s.services.Start("trustd"); err != nil {
			return err
		}
	}

	if err := s.vm.step(ctx, StepServices, s.fleet.config.Durations.Services); err != nil {
		return err
	}

	if err := errors.Join(s.services.Start("cri"), s.services.Start("kubelet")); err != nil {
		return err
	}

	if controlPlane {
		s.startEtcd(cfg)

		return nil
	}

	return s.setMachineStage(runtime.MachineStageRunning, true)
}

// startEarlyServices starts what runs from the beginning of every boot, in maintenance mode as well.
func (s *system) startEarlyServices() error {
	var errs []error
	for _, id := range []string{"auditd", "containerd", "machined", "syslogd", "udevd"} {
		errs = append(errs, s.services.Start(id))
	}

	return errors.Join(errs...)
}
