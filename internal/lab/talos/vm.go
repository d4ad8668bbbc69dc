package talos

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// vm is one machine, on or off. It is safe for concurrent use.
type vm struct {
	fleet *Fleet

	mu       sync.Mutex
	hardware Hardware
	on       bool // the saved value; differs from life only in a fleet that is not resumed yet
	bootID   string
	boots    int // number of boots
	stage    Stage
	life     *life   // nil while the machine is off
	system   *system // nil while no Talos runs
}

// life is the time from power-on to power-off.
type life struct {
	cut  context.CancelFunc
	done chan struct{}
}

func newVM(f *Fleet, r record) *vm {
	return &vm{fleet: f, hardware: r.Hardware, on: r.On, bootID: r.BootID, boots: r.Boots, stage: StageOff}
}

func (m *vm) facts() Hardware {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.hardware
}

func (m *vm) resumable() bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.on && m.life == nil
}

func (m *vm) powerOn(hardware Hardware, resume bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.life != nil {
		return ErrPoweredOn
	}

	m.hardware, m.on, m.stage = hardware, true, StageBooting
	if err := m.save(); err != nil {
		return err
	}

	ctx, cut := context.WithCancel(m.fleet.ctx)
	began := &life{cut: cut, done: make(chan struct{})}
	m.life = began

	err := m.fleet.spawn(func() {
		byItself := m.live(ctx, resume)
		cut()

		if byItself {
			m.note(StepOff, m.switchedOff(began), m.fleet.config.Now())
		}

		close(began.done)

		if byItself { // the host may switch the machine on again at once
			m.fleet.config.OnPowerOff(hardware.VMID)
		}
	})
	if err != nil {
		cut()
		m.life, m.stage = nil, StageOff
	}

	return err
}

func (m *vm) powerOff() error {
	m.mu.Lock()
	running := m.life
	m.mu.Unlock()

	if running == nil {
		return nil
	}

	running.cut()
	<-running.done

	return m.switchedOff(running)
}

// switchedOff records the end of a life. Only the first call has an effect.
func (m *vm) switchedOff(ended *life) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.life != ended {
		return nil
	}

	m.life, m.on, m.stage = nil, false, StageOff

	return m.save()
}

// save writes the machine's record. The caller holds m.mu.
func (m *vm) save() error {
	return m.fleet.store.saveMachine(record{Hardware: m.hardware, On: m.on, BootID: m.bootID, Boots: m.boots})
}

// halt requests Talos to switch the machine off. The power button forces it (v1alpha1_controller.go, ListenForEvents).
func (m *vm) halt(ctx context.Context, force bool) error {
	m.mu.Lock()
	running, system := m.life, m.system
	m.mu.Unlock()

	if running == nil {
		return nil
	}

	if system != nil {
		if err := system.request(command{sequence: sequenceShutdown, force: force}); err != nil {
			return err
		}
	}

	select {
	case <-running.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// live runs one boot after the other until the power is cut, or until Talos switches the machine off. In the latter case it
// returns true.
func (m *vm) live(ctx context.Context, resume bool) (byItself bool) {
	wait := m.fleet.config.Durations.Boot
	if resume {
		wait = 0
	}

	for {
		next, err := m.boot(ctx, wait, resume)
		if ctx.Err() != nil {
			return false
		}

		if next == outcomeOff {
			return true
		}

		m.setStage(StageRebooting)

		if err != nil {
			m.note(StepFailure, errors.Join(err, m.revertRelease()), m.fleet.config.Now())

			if m.pause(ctx) != nil {
				return false
			}
		}

		wait, resume = m.fleet.config.Durations.Reboot, false
	}
}

// pause is Talos' delay before the reboot after a failure. It is never zero, because a machine that fails at every boot would
// keep the lab busy.
func (m *vm) pause(ctx context.Context) error {
	if err := m.fleet.config.Pace.Sleep(ctx, m.fleet.config.Durations.Failure); err != nil {
		return err
	}

	select {
	case <-time.After(100 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *vm) setStage(stage Stage) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.stage = stage
}

// running returns the system that runs on the machine, nil for none.
func (m *vm) running() *system {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.system
}

func (m *vm) setSystem(s *system) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.system = s
}

// address returns the machine's address for the log; zero for none.
func (m *vm) address() netip.Addr {
	if addresses := m.facts().addresses(); len(addresses) > 0 {
		return addresses[0].Addr()
	}

	return netip.Addr{}
}

// step takes the time of one step of the machine's life, and applies faults.
func (m *vm) step(ctx context.Context, name Step, d time.Duration) error {
	began := m.fleet.config.Now()
	err := m.fleet.config.Pace.Sleep(ctx, d)

	if err == nil {
		effect := m.effect(name)
		if effect.Late > 0 {
			err = m.fleet.config.Pace.Sleep(ctx, effect.Late)
		}

		switch {
		case err != nil:
		case effect.Hang:
			m.note(name, errHangs, began)
			err = m.outlast(ctx, name, effect)
		case effect.Err != nil:
			err = effect.Err
		}
	}

	m.note(name, err, began)

	return err
}

// outlast waits at a step that hangs. Only a node that retries the step notices when it no longer hangs.
func (m *vm) outlast(ctx context.Context, name Step, effect Effect) error {
	for attempt := 0; effect.Hang; attempt++ {
		if effect.Retried == 0 || effect.Attempts > 0 && attempt >= effect.Attempts {
			<-ctx.Done()

			return ctx.Err()
		}

		if err := m.untilRetry(ctx, effect.Retried); err != nil {
			return err
		}

		effect = m.effect(name)
	}

	return effect.Err
}

// shortestRetry limits the retries of a node in a lab without delays.
const shortestRetry = 50 * time.Millisecond

// untilRetry waits for the next retry.
func (m *vm) untilRetry(ctx context.Context, interval time.Duration) error {
	select {
	case <-time.After(shortestRetry):
		return m.fleet.config.Pace.Sleep(ctx, interval)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// effect returns the effect of faults on a step.
func (m *vm) effect(name Step) Effect {
	return m.fleet.config.Faults.At(Point{VMID: m.facts().VMID, Name: string(name)})
}

var errHangs = errors.New("hangs, as a fault wants it")

func (m *vm) note(step Step, err error, began time.Time) {
	line := logLine{VMID: m.facts().VMID, Node: m.address(), Step: step}
	if err != nil {
		line.Error = err.Error()
	}

	m.fleet.log.write(line, began)
}
