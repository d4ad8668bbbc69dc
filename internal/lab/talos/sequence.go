package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/protobuf/proto"
)

// sequence is the name of a sequence in the events of Talos' sequencer.
type sequence string

const (
	sequenceInstall      sequence = "install"
	sequenceReboot       sequence = "reboot"
	sequenceShutdown     sequence = "shutdown"
	sequenceReset        sequence = "reset"
	sequenceUpgrade      sequence = "upgrade"
	sequenceStageUpgrade sequence = "stageUpgrade"
)

// command is a request for a sequence.
type command struct {
	sequence sequence
	// actor is the ID in the answer to the causing call.
	actor string
	// force skips the graceful part: stopping before a reboot, draining before a shutdown.
	force bool
	// reset and upgrade are the parameters of these two sequences.
	reset   *resetOptions
	upgrade *Release
}

// outcome returns what the machine does at the end of the sequence.
func (c command) outcome() outcome {
	if c.sequence == sequenceShutdown || c.sequence == sequenceReset && !c.reset.reboot {
		return outcomeOff
	}

	return outcomeReboot
}

// phase is a phase of a sequence with its only task, both with their names in events.
type phase struct {
	name string
	task string
	work func(ctx context.Context, s *system, c command) error
}

// execute runs a sequence with the events of Talos: for the start and the end of the sequence, of each phase and of each
// task. An error is a sequence that failed half way, which ends the boot (internal/app/machined/main.go, runEntrypoint).
func (s *system) execute(ctx context.Context, c command) (outcome, error) {
	defer s.finished()

	if err := errors.Join(
		s.enterStage(stageOf(c.sequence)),
		s.publish(c, &machine.SequenceEvent{Sequence: string(c.sequence), Action: machine.SequenceEvent_START}),
	); err != nil {
		return outcomeReboot, err
	}

	if c.outcome() == outcomeReboot {
		s.vm.setStage(StageRebooting)
	}

	for i, p := range phases(c) {
		if err := s.runPhase(ctx, p, c); err != nil {
			// the number is for people, and each phase has one task (v1alpha1_controller.go, run and runPhase)
			err = fmt.Errorf("error running phase %d in %s sequence: task 1/1: failed, %w", i+1, c.sequence, err)

			return outcomeReboot, errors.Join(err, s.abandon(c, err))
		}
	}

	return s.conclude(c)
}

// The commands of reboot(2) in the events of Talos (include/uapi/linux/reboot.h); golang.org/x/sys has them for Linux only.
const (
	rebootRestart  = 0x01234567
	rebootPowerOff = 0x4321fedc
	rebootKexec    = 0x45584543
)

// conclude publishes the last event of a sequence, which contains what the machine does next.
func (s *system) conclude(c command) (outcome, error) {
	last := int64(rebootRestart)

	switch {
	case c.outcome() == outcomeOff:
		last = rebootPowerOff
	case slices.ContainsFunc(phases(c), func(p phase) bool { return p.name == phaseKexec }):
		last = rebootKexec
	}

	return c.outcome(), errors.Join(
		s.publish(c, &machine.RestartEvent{Cmd: last}),
		s.publish(c, &machine.SequenceEvent{Sequence: string(c.sequence), Action: machine.SequenceEvent_STOP}),
	)
}

// abandon publishes that a sequence has failed, and that Talos reboots for that (controllers/runtime/machine_status.go).
func (s *system) abandon(c command, failure error) error {
	s.vm.setStage(StageRebooting)

	return errors.Join(
		s.publish(c, &machine.SequenceEvent{Sequence: string(c.sequence), Action: machine.SequenceEvent_STOP}),
		s.publish(c, &machine.SequenceEvent{
			Sequence: string(c.sequence), Action: machine.SequenceEvent_NOOP,
			Error: &common.Error{Code: common.Code_FATAL, Message: "sequence failed: " + failure.Error()},
		}),
		s.enterStage(runtime.MachineStageRebooting),
	)
}

func (s *system) runPhase(ctx context.Context, p phase, c command) error {
	if err := errors.Join(
		s.publish(c, &machine.PhaseEvent{Phase: p.name, Action: machine.PhaseEvent_START}),
		s.publish(c, &machine.TaskEvent{Task: p.task, Action: machine.TaskEvent_START}),
	); err != nil {
		return err
	}

	if p.name == phaseKexec && upgrades(c.sequence) { // controllers/runtime/machine_status.go, watchEvents
		if err := s.enterStage(runtime.MachineStageRebooting); err != nil {
			return err
		}
	}

	var failure error
	if p.work != nil {
		failure = p.work(ctx, s, c)
	}

	return errors.Join(failure,
		s.publish(c, &machine.TaskEvent{Task: p.task, Action: machine.TaskEvent_STOP}),
		s.publish(c, &machine.PhaseEvent{Phase: p.name, Action: machine.PhaseEvent_STOP}),
	)
}

func (s *system) publish(c command, payload proto.Message) error {
	return s.events.Publish(c.actor, payload)
}

// upgrades reports whether a sequence changes the installed release.
func upgrades(q sequence) bool { return q == sequenceUpgrade || q == sequenceStageUpgrade }

func stageOf(q sequence) runtime.MachineStage {
	switch q {
	case sequenceShutdown:
		return runtime.MachineStageShuttingDown
	case sequenceReset:
		return runtime.MachineStageResetting
	case sequenceUpgrade, sequenceStageUpgrade:
		return runtime.MachineStageUpgrading
	case sequenceInstall:
		return runtime.MachineStageInstalling
	case sequenceReboot:
		return runtime.MachineStageRebooting
	default:
		return runtime.MachineStageUnknown
	}
}
