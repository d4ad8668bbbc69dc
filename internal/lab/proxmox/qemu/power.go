package qemu

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// startTask answers POST …/status/start (API2/Qemu.pm, vm_start). What is wrong with the VM shows in the task.
func (s *Service) startTask(c *api.Call) (any, error) {
	if s.ha.Managed(c.VMID) {
		return s.ha.RequestStart(c)
	}

	return s.startHere(c)
}

func (s *Service) startHere(c *api.Call) (string, error) {
	return s.env.Tasks.Fork(c.Node, "qmstart", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.startVM(w, c.VMID, c.Node)
	})
}

// startVM boots a VM under its configuration's lock (QemuServer.pm, vm_start).
func (s *Service) startVM(w *task.Worker, vmid int, node string) error {
	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepLock); err != nil {
		return err
	}

	return s.withConfigLock(w.Ctx, vmid, func() error {
		err := s.locked(func() error {
			m, err := s.find(node, vmid)
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

func (s *Service) checkStart(m *vm) error {
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
func (s *Service) boot(w *task.Worker, vmid int, node string) error {
	var machine Machine

	err := s.locked(func() error {
		m, err := s.find(node, vmid)
		if err != nil {
			return err
		}

		if machine, err = s.machine(m); err != nil {
			return err
		}

		return s.claim(w, m, machine)
	})
	if err == nil {
		info := w.Info
		info.PCI = machine.addresses()
		err = s.env.Faults.Step(w.Ctx, info, task.StepStart)
	}

	if err == nil {
		w.Print("generating cloud-init ISO")
		err = s.env.Wait(w.Ctx, pace.VMStart)
	}

	if err == nil {
		err = s.powerOn(w, machine)
	}

	if err := s.locked(func() error { return s.running(w, vmid, node, err) }); err != nil {
		return err
	}

	return s.env.Wait(w.Ctx, pace.VMStarted)
}

// ErrQEMU is how a start ends when the emulator does not come up; why stands in the task's log.
var ErrQEMU = errors.New("start failed: QEMU exited with code 1")

func (s *Service) powerOn(w *task.Worker, machine Machine) error {
	if err := s.machines.PowerOn(w.Ctx, machine); err != nil {
		w.Print("kvm: %s", err)
		return ErrQEMU
	}

	return nil
}

// running records what became of a start.
func (s *Service) running(w *task.Worker, vmid int, node string, err error) error {
	m, missing := s.find(node, vmid)
	if missing != nil {
		return missing
	}

	if err != nil {
		m.PCI, m.Memory = nil, 0
		return err
	}

	now := s.env.Now()
	m.Running, m.PID, m.Since, m.Reboot = true, s.env.Tasks.List().NextPID(), now, false
	s.measureRun(vmid, true)

	if lag := s.env.Faults.Lag(w.Info, task.EffectStatus); lag > 0 {
		m.Shown = now.Add(max(s.env.Pace.Scaled(lag), time.Nanosecond))
	}

	s.env.Changed()

	return nil
}

// stopTask answers POST …/status/stop.
func (s *Service) stopTask(c *api.Call) (any, error) {
	if err := s.rootOnly(c, "skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}

	switch {
	case !s.ha.Managed(c.VMID):
		return s.stopHere(c)
	case c.Params.Bool("overrule-shutdown", false):
		return nil, schema.BadParam("overrule-shutdown", "Not applicable for HA resources.")
	default:
		return s.ha.RequestStop(c, 0)
	}
}

func (s *Service) stopHere(c *api.Call) (string, error) {
	return s.env.Tasks.Fork(c.Node, "qmstop", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		if c.Params.Bool("overrule-shutdown", false) {
			s.overrule(w, c.Node, c.VMID)
		}

		return s.withConfigLock(w.Ctx, c.VMID, func() error { return s.halt(w, c, haltAtOnce) })
	})
}

// overrule ends the shutdowns that wait for a VM.
func (s *Service) overrule(w *task.Worker, node string, vmid int) {
	for _, t := range s.env.Tasks.List().All() {
		if t.Running() && t.Type == "qmshutdown" && t.Node == node && t.ID == strconv.Itoa(vmid) {
			w.Print("overruled qmshutdown tasks: %s", t.UPID)
			s.env.Tasks.Interrupt(t.UPID)
		}
	}
}

// rootOnly refuses options that only root may use.
func (s *Service) rootOnly(c *api.Call, names ...string) error {
	for _, name := range names {
		if c.Params.Has(name) && c.Params.Get(name) != "0" && c.Identity != access.Root {
			return badRootOption(name)
		}
	}

	return nil
}

// shutdownTask answers POST …/status/shutdown.
func (s *Service) shutdownTask(c *api.Call) (any, error) {
	if err := s.rootOnly(c, "skiplock", "keepActive"); err != nil {
		return nil, err
	}

	if s.ha.Managed(c.VMID) {
		return s.ha.RequestStop(c, c.Params.Int("timeout", int(pace.HAStopTimeout.Seconds())))
	}

	return s.shutdownHere(c)
}

func (s *Service) shutdownHere(c *api.Call) (string, error) {
	kind := haltGracefully
	if c.Params.Bool("forceStop", false) {
		kind = haltInTheEnd
	}

	return s.env.Tasks.Fork(c.Node, "qmshutdown", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.withConfigLock(w.Ctx, c.VMID, func() error { return s.halt(w, c, kind) })
	})
}

// rebootTask answers POST …/status/reboot: the machine is shut down, and started again as soon as it is off.
func (s *Service) rebootTask(c *api.Call) (any, error) {
	err := s.locked(func() error {
		m, err := s.find(c.Node, c.VMID)
		if err != nil {
			return err
		}

		if !m.Running {
			return fmt.Errorf("VM %d not running", c.VMID)
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmreboot", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.withConfigLock(w.Ctx, c.VMID, func() error {
			s.requestReboot(c, true)

			err := s.halt(w, c, haltGracefully)
			if err != nil {
				s.requestReboot(c, false)
			}

			return err
		})
	})
}

func (s *Service) requestReboot(c *api.Call, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, err := s.find(c.Node, c.VMID); err == nil {
		m.Reboot = on
	}
}
