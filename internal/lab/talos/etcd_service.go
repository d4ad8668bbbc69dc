package talos

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// etcdControl controls the etcd service of a system.
type etcdControl struct {
	bootstrapped chan struct{}      // closed when the node is bootstrapped while the service waits for it
	stop         context.CancelFunc // nil while the service does not run
	done         chan struct{}      // closed when the service has ended
	born         bool               // the node was bootstrapped and its member has not started yet
}

// startEtcd starts the etcd service unless it runs. With a recovery, its data is created from a snapshot first.
func (s *system) startEtcd(cfg config.Provider, recovery *etcdRecovery) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.etcd.stop != nil || s.ctx.Err() != nil {
		return
	}

	ctx, cancel := context.WithCancel(s.ctx)
	control := etcdControl{bootstrapped: make(chan struct{}), stop: cancel, done: make(chan struct{}), born: s.etcd.born}
	s.etcd = control

	s.background.Go(func() {
		defer close(control.done)
		defer cancel()

		if err := s.runEtcd(ctx, cfg, control.bootstrapped, recovery); err != nil && ctx.Err() == nil {
			s.vm.note(StepEtcdStart, err, s.fleet.config.Now())
		}
	})
}

// stopEtcd stops the etcd service if it runs.
func (s *system) stopEtcd() error {
	s.mu.Lock()
	control := s.etcd
	s.etcd.stop = nil
	s.mu.Unlock()

	if control.stop == nil {
		return nil
	}

	control.stop()
	<-control.done

	return s.services.Set("etcd", service.Finished, "Service finished successfully")
}

// runEtcd runs the etcd service of a control plane. It waits until the node is bootstrapped or can join, and then runs until
// it is stopped or the node is no longer a member.
func (s *system) runEtcd(ctx context.Context, cfg config.Provider, bootstrapped <-chan struct{}, recovery *etcdRecovery) error {
	if err := s.services.Set("etcd", service.Preparing, "Running pre state"); err != nil {
		return err
	}

	if recovery != nil {
		if err := s.recoverEtcd(ctx, cfg, *recovery); err != nil {
			return errors.Join(err, s.services.Set("etcd", service.Failed, "Failed to run pre stage: "+err.Error()))
		}
	}

	data, joined, err := s.etcdMembership(ctx, cfg, bootstrapped)
	if err != nil {
		return err
	}

	s.fleet.etcd.SetRunning(data, true)
	defer s.fleet.etcd.SetRunning(data, false)

	if err := s.services.Set("etcd", service.Running, "Started task etcd"); err != nil {
		return err
	}

	s.background.Go(func() {
		if err := s.establish(ctx, cfg, data, joined); err != nil && ctx.Err() == nil {
			s.vm.note(StepEtcdPromote, err, s.fleet.config.Now())
		}
	})

	return s.watchEtcd(ctx, data)
}

// etcdData returns the node's etcd data directory.
func (s *system) etcdData() etcd.Data {
	if d := s.installed(); d != nil {
		return d.read().Etcd
	}

	return etcd.Data{}
}

// establish publishes the member, as etcd does at every start, and promotes a member that has just joined as soon as the
// cluster allows it. A learner that restarts before its promotion stays a learner, as in Talos (services/etcd.go keeps its ID
// in memory only).
func (s *system) establish(ctx context.Context, cfg config.Provider, data etcd.Data, joined bool) error {
	n, err := s.network(cfg)
	if err != nil {
		return err
	}

	if err := s.untilLed(ctx, func() error { return s.fleet.etcd.Publish(data, n.hostname) }); err != nil || !joined {
		return err
	}

	if err := s.vm.step(ctx, StepEtcdPromote, s.fleet.config.Durations.EtcdJoin); err != nil {
		return err
	}

	if err := s.untilLed(ctx, func() error { return s.fleet.etcd.Promote(data) }); err != nil {
		return err
	}

	return s.fleet.saveEtcd()
}

// untilLed retries a change of the membership while the cluster has no leader.
func (s *system) untilLed(ctx context.Context, change func() error) error {
	for {
		changed := s.fleet.etcd.Changed()

		err := change()
		if !errors.Is(err, etcd.ErrNoLeader) {
			return err
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchEtcd updates the health of the service. It returns when the member is removed.
func (s *system) watchEtcd(ctx context.Context, data etcd.Data) error {
	// unknown at first; the boot lasts until etcd has been healthy once
	var healthy *bool

	stage := runtime.MachineStageBooting

	for {
		changed := s.fleet.etcd.Changed()

		status, err := s.fleet.etcd.Status(data)
		if err != nil {
			return errors.Join(
				s.services.Set("etcd", service.Failed, "the member has been permanently removed from the cluster"),
				s.clearStaticPods(),
			)
		}

		if led := status.Leader != 0; healthy == nil || led != *healthy {
			healthy = &led
			if led {
				stage = runtime.MachineStageRunning
			}

			if err := s.etcdHealth(status, stage); err != nil {
				return err
			}
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
