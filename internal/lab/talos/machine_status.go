package talos

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
)

// machineStatus is the stage of a machine's life, and whether the machine is ready at that stage. A machine is not ready while a
// service that it needs does not run or is not healthy; only a machine that boots or runs needs any (talos v1.12.4,
// controllers/runtime/machine_status.go, getReadinessChecks). Of the other checks, the emulated clock and network are always ready, and
// the Node belongs to Kubernetes.
type machineStatus struct {
	mu        sync.Mutex
	stage     runtime.MachineStage
	published *runtime.MachineStatusSpec // nil before the first stage
}

// enterStage publishes that the machine enters a stage.
func (s *system) enterStage(stage runtime.MachineStage) error {
	s.status.mu.Lock()
	s.status.stage = stage
	s.status.mu.Unlock()

	return s.publishMachineStatus()
}

// publishMachineStatus publishes the stage and what the machine lacks, as resource and as event, if either has changed.
func (s *system) publishMachineStatus() error {
	s.status.mu.Lock()
	defer s.status.mu.Unlock()

	current, err := s.machineStatus()
	if err != nil {
		return err
	}

	if former := s.status.published; former != nil && former.Stage == current.Stage &&
		slices.Equal(former.Status.UnmetConditions, current.Status.UnmetConditions) {
		return nil
	}

	s.status.published = &current

	if current.Stage == runtime.MachineStageRunning && current.Status.Ready {
		if err := s.keepRelease(); err != nil {
			return err
		}
	}

	if err := put(s, runtime.NewMachineStatus(), func(r *runtime.MachineStatus) { *r.TypedSpec() = current }); err != nil {
		return err
	}

	return s.events.Publish("", statusEvent(current))
}

func statusEvent(current runtime.MachineStatusSpec) *machine.MachineStatusEvent {
	status := &machine.MachineStatusEvent_MachineStatus{Ready: current.Status.Ready}
	for _, condition := range current.Status.UnmetConditions {
		status.UnmetConditions = append(status.UnmetConditions, &machine.MachineStatusEvent_MachineStatus_UnmetCondition{
			Name: condition.Name, Reason: condition.Reason,
		})
	}

	return &machine.MachineStatusEvent{
		// The resource's and the event's stages have the same numbers (machinery resources/runtime).
		Stage: machine.MachineStatusEvent_MachineStage(current.Stage), Status: status,
	}
}

// machineStatus returns the status of the current stage. The caller holds s.status.mu.
func (s *system) machineStatus() (runtime.MachineStatusSpec, error) {
	status := runtime.MachineStatusSpec{Stage: s.status.stage}

	if status.Stage == runtime.MachineStageBooting || status.Stage == runtime.MachineStageRunning {
		problems, err := s.serviceProblems()
		if err != nil {
			return status, err
		}

		if len(problems) > 0 {
			status.Status.UnmetConditions = []runtime.UnmetCondition{{Name: "services", Reason: strings.Join(problems, ", ")}}
		}
	}

	status.Status.Ready = len(status.Status.UnmetConditions) == 0

	return status, nil
}

// serviceProblems returns the services that are not healthy, and the required ones that do not run (servicesCheck).
func (s *system) serviceProblems() ([]string, error) {
	list, err := safe.StateListAll[*v1alpha1.Service](s.ctx, s.resources)
	if err != nil {
		return nil, fmt.Errorf("list the services: %w", err)
	}

	required := []string{"apid", "machined", kubelet}
	if cfg := s.config(); cfg != nil && cfg.Machine().Type().IsControlPlane() {
		required = append(required, "etcd", "trustd")
	}

	var problems []string

	for r := range list.All() { // a resource exists for a service that runs only
		if !r.TypedSpec().Unknown && !r.TypedSpec().Healthy {
			problems = append(problems, r.Metadata().ID()+" not healthy")
		}

		required = slices.DeleteFunc(required, func(id string) bool { return id == r.Metadata().ID() })
	}

	for _, id := range required {
		problems = append(problems, id+" not running")
	}

	return problems, nil
}
