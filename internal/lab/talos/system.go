package talos

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"

	"github.com/em-infra/em-infra/internal/lab/talos/discovery"
	"github.com/em-infra/em-infra/internal/lab/talos/event"
	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// system is the Talos of a machine during one boot. It is safe for concurrent use.
type system struct {
	vm       *vm
	fleet    *Fleet
	hardware Hardware
	release  Release
	bootID   string
	booted   time.Time
	fromISO  bool

	resources state.State
	events    *event.Stream
	services  *service.Table

	ctx        context.Context // for everything that runs in the background
	cancel     context.CancelFunc
	background sync.WaitGroup

	telling sync.Mutex // orders the calls of tellKubernetes

	kubeletRestart sync.Mutex // one restart at a time
	podImages      images     // of the container runtime of pods
	ownImages      images     // of the system's container runtime
	kernel         kernelLog  // of this boot

	wrongClock atomic.Bool // whether the certificates were issued with a clock that is not set

	status machineStatus

	provisioning sync.Mutex // held while volumes are provisioned
	volumes      map[string]block.VolumeStatusSpec

	mu           sync.Mutex
	devices      []device // disks by their names
	disk         *disk    // nil until Talos is installed
	active       config.Provider
	front        stoppable // the server on the node's addresses, nil for none
	keys         *keyring  // of the secure API, nil while it is closed
	machined     *machinedServer
	trusted      *authority // this node's trustd, nil while it does not run
	etcd         etcdControl
	announcement *discovery.Announcement // nil until the node has announced itself
	rollback     context.CancelFunc      // ends the trial of a configuration
	pending      *command
	pods         podServices
	routes       []route
	interrupt    context.CancelFunc
}

// stoppable can be stopped with a grace period, after which it aborts.
type stoppable interface {
	Stop(grace time.Duration) error
}

// grace is how long calls may continue during an orderly shutdown of the system. It is not scaled, because the clients are
// real.
const grace = time.Second

// newSystem boots a machine. The caller holds m.mu, so the hardware does not change.
func newSystem(ctx context.Context, m *vm, booted medium) (*system, error) {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	now := m.fleet.config.Now

	s := &system{
		vm: m, fleet: m.fleet, hardware: m.hardware, release: booted.release, bootID: m.bootID, booted: now(), fromISO: booted.iso,
		resources: m.fleet.schema.NewState(),
		events:    event.NewStream(now),
		ctx:       background,
		cancel:    cancel,
		devices:   m.hardware.devices(m.fleet.config.Seed, m.boots),
		disk:      m.fleet.systemDisk(m.hardware),
		volumes:   map[string]block.VolumeStatusSpec{},
	}
	s.services = service.NewTable(now, s.serviceChanged)

	if err := errors.Join(s.publishMachine(), s.startEarlyServices()); err != nil {
		cancel()

		return nil, err
	}

	return s, nil
}

// run runs the system: its work until a sequence is requested, and then the sequence. A sequence that fails ends the boot, as in
// Talos.
func (s *system) run(ctx context.Context) (outcome, error) {
	err := s.untilInterrupted(ctx, s.work)
	asked := s.take()

	switch {
	case ctx.Err() != nil:
		return outcomeReboot, ctx.Err()
	case asked == nil:
		return outcomeReboot, err
	default:
		return s.execute(ctx, *asked)
	}
}

// work turns a machine with a blank or an installed disk into a running node. It returns early only after an installation,
// which a reboot follows, or with an error.
func (s *system) work(ctx context.Context) error {
	if s.fromISO && s.installed() != nil {
		return s.halt(ctx)
	}

	if d := s.installed(); d != nil && d.read().Staged != nil {
		return s.installStaged(ctx, d.read().Staged.clone())
	}

	if err := s.tryRelease(ctx); err != nil {
		return err
	}

	cfg := s.installedConfig()

	if cfg == nil {
		var err error
		if cfg, err = s.maintain(ctx); err != nil {
			return err
		}
	}

	if s.installed() == nil {
		return s.install(ctx, cfg)
	}

	return s.serve(ctx, cfg)
}

// untilInterrupted runs the work until it ends or a sequence is requested.
func (s *system) untilInterrupted(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s.mu.Lock()
	s.interrupt = cancel
	waiting := s.pending != nil
	s.mu.Unlock()

	if waiting {
		return nil
	}

	return work(ctx)
}

// request requests a sequence. During another sequence it is dropped; only an event reports that.
func (s *system) request(c command) error {
	if s.accept(c) {
		return nil
	}

	return s.publish(c, &machine.SequenceEvent{
		Sequence: string(c.sequence), Action: machine.SequenceEvent_NOOP,
		Error: &common.Error{Code: common.Code_LOCKED, Message: "sequence not started: locked"},
	})
}

func (s *system) accept(c command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.pending != nil {
		return false
	}

	s.pending = &c
	if s.interrupt != nil {
		s.interrupt()
	}

	return true
}

// take returns the requested sequence, nil for none.
func (s *system) take() *command {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.pending
}

// finished allows the next request.
func (s *system) finished() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.pending = nil
}

// stop ends the system. After a power cut every connection breaks at once.
func (s *system) stop(ctx context.Context) error {
	patience := grace
	if ctx.Err() != nil {
		patience = 0
	}

	s.vanish()
	s.events.End()
	s.cancel()
	s.leaveTrust()

	s.mu.Lock()
	front, machined := s.front, s.machined
	s.front, s.machined = nil, nil
	s.mu.Unlock()

	var errs []error
	if front != nil {
		errs = append(errs, front.Stop(patience))
	}

	if machined != nil {
		machined.stop()
	}

	s.background.Wait()
	s.losePods()

	return errors.Join(errs...)
}

// installed returns the system disk, nil on a machine that runs from the ISO without one.
func (s *system) installed() *disk {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.disk
}

func (s *system) installedConfig() config.Provider {
	if d := s.installed(); d != nil {
		return d.config()
	}

	return nil
}

// config returns the active machine configuration, nil in maintenance mode.
func (s *system) config() config.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.active
}

// serviceChanged publishes a change in the service table, as event and as resource.
func (s *system) serviceChanged(c service.Change) error {
	s.followPodServices(c)

	return errors.Join(
		s.events.Publish("", &machine.ServiceStateEvent{Service: c.ID, Action: c.State, Message: c.Message, Health: c.Health}),
		s.publishService(c),
		s.publishMachineStatus(),
	)
}
