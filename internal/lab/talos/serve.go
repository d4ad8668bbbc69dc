package talos

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// serve runs an installed and configured node: it activates its configuration, obtains its certificates, opens the secure API
// and starts its services. It ends with the context.
func (s *system) serve(ctx context.Context, cfg config.Provider) error {
	if err := s.persist(cfg); err != nil {
		return err
	}

	if err := s.activate(cfg); err != nil {
		return fmt.Errorf("take up the machine configuration: %w", err)
	}

	if err := s.needNetwork(ctx, cfg); err != nil {
		return err
	}

	s.inBackground(func(ctx context.Context) error { return s.followCluster(ctx, cfg) })

	if err := s.openSecureAPI(ctx, cfg); err != nil {
		return err
	}

	s.vm.setStage(StageRunning)

	if err := s.startServices(ctx, cfg); err != nil {
		return err
	}

	<-ctx.Done()

	return ctx.Err()
}

// persist writes a configuration to a disk without one, whose state was wiped.
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

// errNoNetwork is why a node does not continue: Talos creates no certificates without a name and an address.
var errNoNetwork = errors.New("the node has no hostname or no address: neither the machine configuration nor the configuration drive gives both")

// needNetwork blocks forever on a node without a name or an address, as Talos does.
func (s *system) needNetwork(ctx context.Context, cfg config.Provider) error {
	n, err := s.network(cfg)
	if err != nil || n.hostname != "" && len(n.addresses) > 0 {
		return err
	}

	s.vm.note(StepCertificate, errNoNetwork, s.fleet.config.Now())
	<-ctx.Done()

	return ctx.Err()
}

// inBackground runs work until the system stops. An earlier error is logged.
func (s *system) inBackground(work func(context.Context) error) {
	s.background.Go(func() {
		if err := work(s.ctx); err != nil && s.ctx.Err() == nil {
			s.vm.note(StepServices, err, s.fleet.config.Now())
		}
	})
}

// startServices is the boot sequence after the API is open: trustd on a control plane, then the container runtime and the
// kubelet, and finally etcd on a control plane. The boot ends when etcd is healthy.
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

	if err := errors.Join(s.services.Start("cri"), s.services.Start(kubelet)); err != nil {
		return err
	}

	if controlPlane {
		s.startEtcd(cfg, nil)

		return nil
	}

	return s.enterStage(runtime.MachineStageRunning)
}

// startEarlyServices starts the services that run from the beginning of every boot, even in maintenance mode.
func (s *system) startEarlyServices() error {
	var errs []error
	for _, id := range []string{"auditd", "containerd", "machined", "syslogd", "udevd"} {
		errs = append(errs, s.services.Start(id))
	}

	return errors.Join(append(errs, s.startAgent())...)
}
