package talos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/talos/cosi"
	"github.com/em-infra/em-infra/internal/lab/talos/discovery"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Errors of a fleet.
var (
	// ErrPoweredOn is returned for a machine that is already on.
	ErrPoweredOn = errors.New("the machine is switched on already")
	// ErrUnknownMachine is returned for a VMID that was never switched on, or was destroyed.
	ErrUnknownMachine = errors.New("no such machine")
	// ErrClosed is returned by a closed fleet.
	ErrClosed = errors.New("the fleet is closed")
)

// Fleet has all Talos machines of one lab. It is safe for concurrent use.
type Fleet struct {
	config    Config
	schema    *cosi.Schema
	store     *store
	log       *logbook
	discovery *discovery.Service
	etcd      *etcd.Registry
	trust     *signal // a trustd has started or stopped

	lives sync.WaitGroup // one for each machine that is on, and for work that outlives a machine
	ctx   context.Context
	end   context.CancelFunc

	writing sync.Mutex // of the etcd memberships

	mu       sync.Mutex
	closed   bool
	machines map[int]*vm
	disks    map[string]*disk
}

// NewFleet opens the state directory. Its machines are off until Resume or PowerOn.
func NewFleet(config Config) (*Fleet, error) {
	config = config.withDefaults()
	ctx, end := context.WithCancel(context.Background())

	fleet := &Fleet{
		config:    config,
		log:       newLogbook(config.Log, config.Now),
		discovery: discovery.NewService(),
		trust:     newSignal(),
		ctx:       ctx,
		end:       end,
		machines:  map[int]*vm{},
		disks:     map[string]*disk{},
	}

	if err := fleet.open(ctx); err != nil {
		end()

		return nil, fmt.Errorf("open the Talos nodes of the lab: %w", err)
	}

	return fleet, nil
}

func (f *Fleet) open(ctx context.Context) (err error) {
	if f.store, err = openStore(f.config.StateDir); err != nil {
		return err
	}

	if f.schema, err = cosi.NewSchema(ctx); err != nil {
		return err
	}

	clusters, err := f.store.etcd()
	if err != nil {
		return err
	}

	f.etcd = etcd.NewRegistry(clusters...)

	return errors.Join(f.openDisks(), f.openMachines())
}

func (f *Fleet) openMachines() error {
	records, err := f.store.machines()
	if err != nil {
		return err
	}

	for _, r := range records {
		f.machines[r.Hardware.VMID] = newVM(f, r)
	}

	return nil
}

// Resume switches on the machines that were on when the fleet was closed. It resumes their boot without delay and with the
// same boot ID, so that a client sees only a pause.
func (f *Fleet) Resume() error {
	var errs []error

	for _, m := range f.all() {
		if !m.resumable() {
			continue
		}

		if err := m.powerOn(m.facts(), true); err != nil {
			errs = append(errs, fmt.Errorf("resume machine %d: %w", m.facts().VMID, err))
		}
	}

	return errors.Join(errs...)
}

// PowerOn switches a machine on and returns at once; the machine then boots. The context applies to the call only.
func (f *Fleet) PowerOn(ctx context.Context, hardware Hardware) error {
	if err := errors.Join(ctx.Err(), hardware.validate()); err != nil {
		return fmt.Errorf("switch on machine %d: %w", hardware.VMID, err)
	}

	f.mu.Lock()
	m := f.machines[hardware.VMID]
	if m == nil {
		m = newVM(f, record{Hardware: hardware.clone()})
		f.machines[hardware.VMID] = m
	}
	f.mu.Unlock()

	if err := m.powerOn(hardware.clone(), false); err != nil {
		return fmt.Errorf("switch on machine %d: %w", hardware.VMID, err)
	}

	return nil
}

// PowerOff cuts the power: every connection breaks, and data that is not on a disk is lost. It does nothing for a machine
// that is off or unknown.
func (f *Fleet) PowerOff(vmid int) error {
	m := f.machine(vmid)
	if m == nil {
		return nil
	}

	if err := m.powerOff(); err != nil {
		return fmt.Errorf("switch off machine %d: %w", vmid, err)
	}

	return nil
}

// Shutdown presses the power button and waits until the machine is off. A machine without a running Talos does not react to
// the button, so the call ends with the context.
func (f *Fleet) Shutdown(ctx context.Context, vmid int) error {
	m := f.machine(vmid)
	if m == nil {
		return fmt.Errorf("shut down machine %d: %w", vmid, ErrUnknownMachine)
	}

	if err := m.halt(ctx, true); err != nil {
		return fmt.Errorf("shut down machine %d: %w", vmid, err)
	}

	return nil
}

// Destroy removes a machine and the contents of its disks. It does nothing for an unknown machine.
func (f *Fleet) Destroy(vmid int) error {
	m := f.machine(vmid)
	if m == nil {
		return nil
	}

	errs := []error{m.powerOff()}

	f.mu.Lock()
	delete(f.machines, vmid)
	f.mu.Unlock()

	for _, disk := range m.facts().Disks {
		errs = append(errs, f.erase(disk.ID))
	}

	if err := errors.Join(append(errs, f.store.removeMachine(vmid))...); err != nil {
		return fmt.Errorf("destroy machine %d: %w", vmid, err)
	}

	return nil
}

// Close cuts the power of all machines. Another fleet with the same state directory can resume them.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()

	f.end()
	f.lives.Wait()

	if err := f.log.failure(); err != nil {
		return fmt.Errorf("write the log of the Talos nodes: %w", err)
	}

	return nil
}

// spawn runs work for which Close has to wait.
func (f *Fleet) spawn(run func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.closed {
		return ErrClosed
	}

	f.lives.Go(run)

	return nil
}

// all returns the machines, sorted by VMID.
func (f *Fleet) all() []*vm {
	f.mu.Lock()
	defer f.mu.Unlock()

	machines := make([]*vm, 0, len(f.machines))
	for _, vmid := range slices.Sorted(maps.Keys(f.machines)) {
		machines = append(machines, f.machines[vmid])
	}

	return machines
}

// machine returns nil for an unknown VMID.
func (f *Fleet) machine(vmid int) *vm {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.machines[vmid]
}
