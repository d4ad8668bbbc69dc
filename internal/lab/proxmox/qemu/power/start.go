// Package power starts and stops VMs, for callers of the API, for the HA manager, and at the boot of their host (qemu-server
// QemuServer.pm: vm_start, vm_stop, vm_reboot). It is stateless: package process knows what runs. A change of a VM's power
// holds the lock file of its configuration. The HA manager is queried before that, and notified while no other lock is held.
package power

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Start handles POST …/status/start (API2/Qemu.pm, vm_start). An error of the VM is in the task.
func (s *Service) Start(c *api.Call) (any, error) {
	if s.ha.Managed(c.VMID) {
		return s.ha.RequestStart(c)
	}

	return s.StartHere(c)
}

// StartHere starts the task that starts a VM, whether it is managed by the HA manager or not.
func (s *Service) StartHere(c *api.Call) (string, error) {
	return s.env.Tasks.Fork(c.Node, "qmstart", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.StartVM(w, c.VMID, c.Node)
	})
}

// StartVM boots a VM under its configuration's lock (QemuServer.pm, vm_start).
func (s *Service) StartVM(w *task.Worker, vmid int, node string) error {
	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepLock); err != nil {
		return err
	}

	return s.configs.WithLock(w.Ctx, vmid, func() error {
		return s.Resume(w, node, vmid)
	})
}

func (s *Service) checkStart(m *config.VM) error {
	if m.Config.Template() {
		return errors.New("you can't start a vm if it's a template")
	}

	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	if s.processes.Running(m.ID) {
		return fmt.Errorf("VM %d already running", m.ID)
	}

	s.pending.Apply(m)

	return nil
}

// boot starts QEMU: it builds the hardware, checks that the host has enough memory, and switches the machine on.
func (s *Service) boot(w *task.Worker, vmid int, node string) error {
	var shown machine.Machine

	err := s.configs.On(node, vmid, func(m *config.VM) (err error) {
		if shown, err = s.hardware(m); err != nil {
			return err
		}

		return s.claim(w, m, shown)
	})
	if err == nil {
		info := w.Info
		info.PCI = shown.Addresses()
		err = s.env.Faults.Step(w.Ctx, info, task.StepStart)
	}

	if err == nil {
		w.Print("generating cloud-init ISO")
		err = s.env.Wait(w.Ctx, pace.VMStart)
	}

	if err == nil {
		err = s.powerOn(w, shown)
	}

	if err == nil {
		err = s.configs.On(node, vmid, func(m *config.VM) error { return s.disks.Install(m, shown) })
	}

	if err != nil {
		s.processes.Fail(vmid)
		return err
	}

	s.started(w, vmid)

	return s.env.Wait(w.Ctx, pace.VMStarted)
}

// ErrQEMU is the error of a start that fails in QEMU. The reason is in the task's log.
var ErrQEMU = errors.New("start failed: QEMU exited with code 1")

func (s *Service) powerOn(w *task.Worker, shown machine.Machine) error {
	if err := s.machines.PowerOn(w.Ctx, shown); err != nil {
		w.Print("kvm: %s", err)
		return ErrQEMU
	}

	return nil
}

// started records that a VM runs.
func (s *Service) started(w *task.Worker, vmid int) {
	now := s.env.Now()
	shown := now

	if lag := s.env.Faults.Lag(w.Info, task.EffectStatus); lag > 0 {
		shown = now.Add(max(s.env.Pace.Scaled(lag), time.Nanosecond))
	}

	s.processes.Started(vmid, s.env.Tasks.List().NextPID(), now, shown)
	s.statistics.Run(vmid, true)
	s.env.Changed()
}

// stopTask handles POST …/status/stop.
func (s *Service) stopTask(c *api.Call) (any, error) {
	if err := settings.RootOnly(c.Identity, c.Params, "skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}

	switch {
	case !s.ha.Managed(c.VMID):
		return s.StopHere(c)
	case c.Params.Bool("overrule-shutdown", false):
		return nil, schema.BadParam("overrule-shutdown", "Not applicable for HA resources.")
	default:
		return s.ha.RequestStop(c, 0)
	}
}

// StopHere starts the task that stops a VM, whether it is managed by the HA manager or not.
func (s *Service) StopHere(c *api.Call) (string, error) {
	return s.env.Tasks.Fork(c.Node, "qmstop", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		if c.Params.Bool("overrule-shutdown", false) {
			s.overrule(w, c.Node, c.VMID)
		}

		return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.halt(w, c, haltAtOnce) })
	})
}

// overrule ends the running shutdown tasks of a VM.
func (s *Service) overrule(w *task.Worker, node string, vmid int) {
	for _, t := range s.env.Tasks.List().All() {
		if t.Running() && t.Type == "qmshutdown" && t.Node == node && t.ID == strconv.Itoa(vmid) {
			w.Print("overruled qmshutdown tasks: %s", t.UPID)
			s.env.Tasks.Interrupt(t.UPID)
		}
	}
}

// shutdownTask handles POST …/status/shutdown.
func (s *Service) shutdownTask(c *api.Call) (any, error) {
	if err := settings.RootOnly(c.Identity, c.Params, "skiplock", "keepActive"); err != nil {
		return nil, err
	}

	if s.ha.Managed(c.VMID) {
		return s.ha.RequestStop(c, c.Params.Int("timeout", int(pace.HAStopTimeout.Seconds())))
	}

	return s.ShutdownHere(c)
}

// ShutdownHere starts the task that shuts a VM down, whether it is managed by the HA manager or not.
func (s *Service) ShutdownHere(c *api.Call) (string, error) {
	kind := haltGracefully
	if c.Params.Bool("forceStop", false) {
		kind = haltInTheEnd
	}

	return s.env.Tasks.Fork(c.Node, "qmshutdown", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.halt(w, c, kind) })
	})
}

// rebootTask handles POST …/status/reboot. The machine is shut down, and started again as soon as it is off.
func (s *Service) rebootTask(c *api.Call) (any, error) {
	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		if !s.processes.Running(m.ID) {
			return fmt.Errorf("VM %d not running", c.VMID)
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmreboot", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error {
			s.processes.RequestReboot(c.VMID, true)

			err := s.halt(w, c, haltGracefully)
			if err != nil {
				s.processes.RequestReboot(c.VMID, false)
			}

			return err
		})
	})
}
