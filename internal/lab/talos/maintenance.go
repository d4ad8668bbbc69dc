package talos

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// maintenanceTask is the task whose events mark the start and end of maintenance mode in Talos.
const maintenanceTask = "runningMaintenance"

// maintain runs maintenance mode until a client applies a sufficient configuration. A machine without an address waits
// forever, because no client can reach it.
func (s *system) maintain(ctx context.Context) (config.Provider, error) {
	service := &maintenanceServer{system: s, applied: make(chan config.Provider, 1)}

	if err := errors.Join(
		s.events.Publish("", &machine.TaskEvent{Action: machine.TaskEvent_START, Task: maintenanceTask}),
		s.enterStage(runtime.MachineStageMaintenance),
		s.openMaintenance(ctx, service),
	); err != nil {
		return nil, err
	}

	s.vm.setStage(StageMaintenance)

	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case cfg := <-service.applied:
			if cfg.CompleteForBoot() {
				return cfg, s.leaveMaintenance(ctx)
			}
		}
	}
}

func (s *system) leaveMaintenance(ctx context.Context) error {
	if err := s.vm.step(ctx, StepLeaveMaintenance, 0); err != nil {
		return err
	}

	s.vm.setStage(StageBooting)

	return errors.Join(
		s.closeFront(grace),
		s.events.Publish("", &machine.TaskEvent{Action: machine.TaskEvent_STOP, Task: maintenanceTask}),
		s.enterStage(runtime.MachineStageBooting),
	)
}
