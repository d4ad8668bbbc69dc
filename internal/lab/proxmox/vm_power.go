package proxmox

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// startTask answers POST …/status/start (API2/Qemu.pm, vm_start). What is wrong with the VM shows in the task.
func (s *Server) startTask(c *call) (any, error) {
	if s.isManaged(c.vmid) {
		return s.requestStart(c)
	}

	return s.startHere(c)
}

func (s *Server) startHere(c *call) (string, error) {
	return s.fork(c.node, "qmstart", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.startVM(w, c.vmid, c.node)
	})
}

// startVM boots a VM under its configuration's lock (QemuServer.pm, vm_start).
func (s *Server) startVM(w *worker, vmid int, node string) error {
	if err := s.config.Faults.Step(w.ctx, w.info, StepLock); err != nil {
		return err
	}

	return s.withConfigLock(w.ctx, vmid, func() error {
		err := s.locked(func() error {
			m, err := s.state.find(node, vmid)
			if err != nil {
				return err
			}

			return s.checkStart(m)
		})
		if err != nil {
			return err
		}

		return s.boot(w, vmid, node)
	})
}

func (s *Server) checkStart(m *vm) error {
	if m.Config.Template() {
		return errors.New("you can't start a vm if it's a template")
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	if m.Running {
		return fmt.Errorf("VM %d already running", m.ID)
	}

	s.applyPending(m)

	return nil
}

// boot starts QEMU: the hardware is put together, the host must have the room, then the machine gets power.
func (s *Server) boot(w *worker, vmid int, node string) error {
	var machine Machine

	err := s.locked(func() error {
		m, err := s.state.find(node, vmid)
		if err != nil {
			return err
		}

		if machine, err = s.machine(m); err != nil {
			return err
		}

		return s.claim(w, m, machine)
	})
	if err == nil {
		info := w.info
		info.PCI = machine.addresses()
		err = s.config.Faults.Step(w.ctx, info, StepStart)
	}

	if err == nil {
		w.print("generating cloud-init ISO")
		err = s.wait(w.ctx, pace.VMStart)
	}

	if err == nil {
		err = s.powerOn(w, machine)
	}

	if err := s.locked(func() error { return s.running(w, vmid, node, err) }); err != nil {
		return err
	}

	return s.wait(w.ctx, pace.VMStarted)
}

// errQEMU is how a start ends when the emulator does not come up; why stands in the task's log.
var errQEMU = errors.New("start failed: QEMU exited with code 1")

func (s *Server) powerOn(w *worker, machine Machine) error {
	if err := s.config.Machines.PowerOn(w.ctx, machine); err != nil {
		w.print("kvm: %s", err)
		return errQEMU
	}

	return nil
}

// running records what became of a start.
func (s *Server) running(w *worker, vmid int, node string, err error) error {
	m, missing := s.state.find(node, vmid)
	if missing != nil {
		return missing
	}

	if err != nil {
		m.PCI, m.Memory = nil, 0
		return err
	}

	now := s.config.Now()
	m.Running, m.PID, m.Since, m.Reboot = true, s.tasks.NextPID(), now, false
	s.measureRun(vmid, true)

	if lag := s.config.Faults.Lag(w.info, EffectStatus); lag > 0 {
		m.Shown = now.Add(max(s.config.Pace.Scaled(lag), time.Nanosecond))
	}

	s.changed()

	return nil
}

// stopTask answers POST …/status/stop.
func (s *Server) stopTask(c *call) (any, error) {
	if err := s.rootOnly(c, "skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}

	switch {
	case !s.isManaged(c.vmid):
		return s.stopHere(c)
	case c.params.Bool("overrule-shutdown", false):
		return nil, schema.BadParam("overrule-shutdown", "Not applicable for HA resources.")
	default:
		return s.requestStop(c, 0)
	}
}

func (s *Server) stopHere(c *call) (string, error) {
	return s.fork(c.node, "qmstop", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		if c.params.Bool("overrule-shutdown", false) {
			s.overrule(w, c.node, c.vmid)
		}

		return s.withConfigLock(w.ctx, c.vmid, func() error { return s.halt(w, c, haltAtOnce) })
	})
}

// overrule ends the shutdowns that wait for a VM.
func (s *Server) overrule(w *worker, node string, vmid int) {
	for _, t := range s.tasks.All() {
		if t.Running() && t.Type == "qmshutdown" && t.Node == node && t.ID == strconv.Itoa(vmid) {
			w.print("overruled qmshutdown tasks: %s", t.UPID)
			s.interrupt(t.UPID)
		}
	}
}

// rootOnly refuses options that only root may use.
func (s *Server) rootOnly(c *call, names ...string) error {
	for _, name := range names {
		if c.params.Has(name) && c.params.Get(name) != "0" && c.identity != access.Root {
			return badRootOption(name)
		}
	}

	return nil
}

// shutdownTask answers POST …/status/shutdown.
func (s *Server) shutdownTask(c *call) (any, error) {
	if err := s.rootOnly(c, "skiplock", "keepActive"); err != nil {
		return nil, err
	}

	if s.isManaged(c.vmid) {
		return s.requestStop(c, c.params.Int("timeout", int(pace.HAStopTimeout.Seconds())))
	}

	return s.shutdownHere(c)
}

func (s *Server) shutdownHere(c *call) (string, error) {
	kind := haltGracefully
	if c.params.Bool("forceStop", false) {
		kind = haltInTheEnd
	}

	return s.fork(c.node, "qmshutdown", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error { return s.halt(w, c, kind) })
	})
}

// rebootTask answers POST …/status/reboot: the machine is shut down, and started again as soon as it is off.
func (s *Server) rebootTask(c *call) (any, error) {
	err := s.locked(func() error {
		m, err := s.state.find(c.node, c.vmid)
		if err != nil {
			return err
		}

		if !m.Running {
			return fmt.Errorf("VM %d not running", c.vmid)
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmreboot", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error {
			s.requestReboot(c, true)

			err := s.halt(w, c, haltGracefully)
			if err != nil {
				s.requestReboot(c, false)
			}

			return err
		})
	})
}

func (s *Server) requestReboot(c *call, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, err := s.state.find(c.node, c.vmid); err == nil {
		m.Reboot = on
	}
}
