package proxmox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
)

// haltKind says how a machine is brought down.
type haltKind int

const (
	// haltAtOnce cuts the power.
	haltAtOnce haltKind = iota
	// haltGracefully presses the power button and fails when that does not help.
	haltGracefully
	// haltInTheEnd presses it and cuts the power when that does not help.
	haltInTheEnd
)

// halt brings a machine down (QemuServer.pm, _do_vm_stop). The configuration's lock is held.
func (s *Server) halt(w *worker, c *call, kind haltKind) error {
	running, err := s.checkHalt(c)
	if err != nil || !running {
		return err
	}

	if kind == haltAtOnce {
		return s.cutPower(w, c.vmid)
	}

	limit := time.Duration(c.params.Int("timeout", int(pace.ShutdownTimeout.Seconds()))) * time.Second

	err = s.askToHalt(w, c, limit)

	switch {
	case err == nil:
		s.off(c.vmid)
		return nil
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case kind == haltInTheEnd:
		w.print("VM still running - terminating now with SIGTERM")
		return s.cutPower(w, c.vmid)
	default:
		return errors.New("VM quit/powerdown failed - got timeout")
	}
}

// checkHalt reports whether there is anything to bring down.
func (s *Server) checkHalt(c *call) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.state.find(c.node, c.vmid)
	if err != nil || !m.Running {
		return false, err
	}

	return true, s.checkLock(m)
}

// askToHalt has the guest agent switch the machine off where one is configured and answers, and presses the power button
// else. An agent that answered is believed: nothing follows when the guest stays on (QemuServer.pm, _do_vm_stop).
func (s *Server) askToHalt(w *worker, c *call, limit time.Duration) error {
	// The time of the question does not count against the limit.
	byAgent, err := s.agentAnswers(w, c)
	if err != nil {
		return err
	}

	limited, cancel := context.WithTimeout(w.ctx, s.config.Pace.Timeout(limit))
	defer cancel()

	switch err := s.config.Faults.Step(limited, w.info, StepShutdown); {
	case errors.Is(err, errButtonIgnored):
		return s.untilOff(limited, c)
	case err != nil:
		return err
	}

	if err := s.wait(limited, pace.VMShutdown); err != nil {
		return err
	}

	if byAgent {
		return s.config.Machines.ShutdownByAgent(limited, c.vmid)
	}

	return s.config.Machines.Shutdown(limited, c.vmid)
}

// errButtonIgnored is a guest that goes on as if nobody had pressed its power button.
var errButtonIgnored = errors.New("the guest ignores its power button")

// untilOff looks every second whether a machine that ignores its power button is off for another reason, until the time is over
// (QemuServer.pm, _do_vm_stop: while $count < $timeout && check_running).
func (s *Server) untilOff(ctx context.Context, c *call) error {
	for {
		if running, err := s.checkHalt(c); err != nil || !running {
			return err
		}

		select {
		case <-time.After(shortestLook):
		case <-ctx.Done():
			return ctx.Err()
		}

		if err := s.wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// shortestLook keeps a lab that takes no time from looking all the time.
const shortestLook = 10 * time.Millisecond

// agentAnswers is false where no agent is configured.
func (s *Server) agentAnswers(w *worker, c *call) (bool, error) {
	enabled, err := s.agentOf(c)
	if err != nil || !enabled {
		return false, nil //nolint:nilerr // without an agent there is the button
	}

	_, err = s.ping(w.ctx, c.vmid, true)
	if errors.Is(err, errAgentSilent) {
		w.print("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", c.vmid)

		return false, nil
	}

	return err == nil, err
}

func (s *Server) cutPower(w *worker, vmid int) error {
	if err := s.wait(w.ctx, pace.VMStop); err != nil {
		return err
	}

	s.config.Machines.PowerOff(vmid)
	s.off(vmid)

	return nil
}

// off records that a machine has no power any more. One that was asked to reboot starts again, as a task of root's
// (qemu-server CLI/qm.pm, cleanup; qmeventd calls it).
func (s *Server) off(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, ok := s.state.VMs[vmid]
	if !ok || !m.Running {
		return
	}

	again := m.Reboot
	m.Running, m.PID, m.PCI, m.Memory, m.Reboot = false, 0, nil, 0, false
	s.measureRun(vmid, false)
	s.changed()

	if !again {
		s.tend(vmid)
		return
	}

	node := m.Node

	_, err := s.fork(node, "qmstart", strconv.Itoa(vmid), access.Root, vmid, func(w *worker) error {
		return s.startVM(w, vmid, node)
	})
	if err != nil {
		s.journal.note("reboot not finished", err)
	}
}

// GuestPoweredOff tells the host that a machine has turned itself off.
func (s *Server) GuestPoweredOff(vmid int) { s.off(vmid) }
