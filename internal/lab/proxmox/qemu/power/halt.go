package power

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/agent"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// haltKind is how a machine is stopped.
type haltKind int

const (
	// haltAtOnce cuts the power.
	haltAtOnce haltKind = iota
	// haltGracefully presses the power button, and fails if that has no effect.
	haltGracefully
	// haltInTheEnd presses the power button, and cuts the power if that has no effect.
	haltInTheEnd
)

// halt stops a machine (QemuServer.pm, _do_vm_stop). The caller holds the configuration's lock.
func (s *Service) halt(w *task.Worker, c *api.Call, kind haltKind) error {
	running, err := s.checkHalt(c)
	if err != nil || !running {
		return err
	}

	if kind == haltAtOnce {
		return s.Cut(w, c.VMID)
	}

	limit := time.Duration(c.Params.Int("timeout", int(pace.ShutdownTimeout.Seconds()))) * time.Second

	err = s.askToHalt(w, c, limit)

	switch {
	case err == nil:
		s.off(c.VMID)
		return nil
	case w.Ctx.Err() != nil:
		return w.Ctx.Err()
	case kind == haltInTheEnd:
		w.Print("VM still running - terminating now with SIGTERM")
		return s.Cut(w, c.VMID)
	default:
		return errors.New("VM quit/powerdown failed - got timeout")
	}
}

// checkHalt reports whether the machine runs.
func (s *Service) checkHalt(c *api.Call) (bool, error) {
	running := false

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		if running = s.processes.Running(m.ID); !running {
			return nil
		}

		return m.CheckLock(s.env.Now())
	})

	return running, err
}

// askToHalt makes the guest agent shut the machine down if one answers, and otherwise presses the power button. If the agent
// has answered and the guest stays on, nothing else is tried (QemuServer.pm, _do_vm_stop).
func (s *Service) askToHalt(w *task.Worker, c *api.Call, limit time.Duration) error {
	// The ping does not count against the limit.
	byAgent, err := s.agentAnswers(w, c)
	if err != nil {
		return err
	}

	limited, cancel := context.WithTimeout(w.Ctx, s.env.Pace.Timeout(limit))
	defer cancel()

	switch err := s.env.Faults.Step(limited, w.Info, task.StepShutdown); {
	case errors.Is(err, ErrButtonIgnored):
		return s.untilOff(limited, c)
	case err != nil:
		return err
	}

	if err := s.env.Wait(limited, pace.VMShutdown); err != nil {
		return err
	}

	if byAgent {
		return s.machines.ShutdownByAgent(limited, c.VMID)
	}

	return s.machines.Shutdown(limited, c.VMID)
}

// ErrButtonIgnored is returned if the guest does not react to its power button.
var ErrButtonIgnored = errors.New("the guest ignores its power button")

// untilOff checks every second, until the limit, whether a machine that ignores its power button is off for another reason
// (QemuServer.pm, _do_vm_stop: while $count < $timeout && check_running).
func (s *Service) untilOff(ctx context.Context, c *api.Call) error {
	for {
		if running, err := s.checkHalt(c); err != nil || !running {
			return err
		}

		select {
		case <-time.After(shortestLook):
		case <-ctx.Done():
			return ctx.Err()
		}

		if err := s.env.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// shortestLook limits the frequency of the checks in a lab without delays.
const shortestLook = 10 * time.Millisecond

// agentAnswers reports whether a guest agent answers.
func (s *Service) agentAnswers(w *task.Worker, c *api.Call) (bool, error) {
	configured, err := s.agent.Answers(w.Ctx, c)
	if errors.Is(err, agent.ErrSilent) {
		w.Print("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", c.VMID)

		return false, nil
	}

	return configured && err == nil, err
}

// Cut cuts the power of a VM. The caller holds its configuration's lock file.
func (s *Service) Cut(w *task.Worker, vmid int) error {
	if err := s.env.Wait(w.Ctx, pace.VMStop); err != nil {
		return err
	}

	s.machines.PowerOff(vmid)
	s.off(vmid)

	return nil
}

// off records that a machine is off. After a reboot request it is started again by a task of root (qemu-server CLI/qm.pm,
// cleanup; qmeventd calls it).
func (s *Service) off(vmid int) {
	node, again, ok := s.recordOff(vmid)

	switch {
	case !ok:
		return
	case !again:
		s.ha.Tend(vmid)
		return
	}

	_, err := s.env.Tasks.Fork(node, "qmstart", strconv.Itoa(vmid), access.Root, vmid, func(w *task.Worker) error {
		return s.StartVM(w, vmid, node)
	})
	if err != nil {
		s.env.Note("reboot not finished", err)
	}
}

// recordOff records that a VM has stopped. It returns its node and whether it must start again; ok is false if it did not
// run.
func (s *Service) recordOff(vmid int) (node string, again, ok bool) {
	node, again, ok = s.processes.Ended(vmid)
	if ok {
		s.statistics.Run(vmid, false)
		s.env.Changed()
	}

	return node, again, ok
}

// GuestPoweredOff records that a machine has turned itself off.
func (s *Service) GuestPoweredOff(vmid int) { s.off(vmid) }
