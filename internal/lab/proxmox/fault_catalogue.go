package proxmox

import (
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// faultKind is a fault in the catalogue. It applies to calls, to a step of workers, or to an effect of workers.
type faultKind struct {
	fault.Kind

	// call selects the calls, answer returns their error. Without answer the call is executed; lost then drops its response.
	call   func(Call) bool
	answer func(Call) error
	lost   bool

	// step and work select the workers; without work all types match. fail returns their error. Without fail the fault only
	// takes time.
	step Step
	work func(TaskInfo) bool
	fail func(TaskInfo) error
	// hangs blocks the worker at the step until it is stopped or the fault is cleared, like a storage that becomes reachable
	// again.
	hangs bool

	// effect is delayed by lag.
	effect Effect
	lag    time.Duration

	// wait is the host's time before the failure.
	wait time.Duration
}

// catalogue are the faults that can be set. The texts are those of real hosts.
var catalogue = slices.Concat(callFaults, workFaults)

// FaultKinds returns the faults of a host.
func FaultKinds() []fault.Kind {
	kinds := make([]fault.Kind, len(catalogue))
	for i, k := range catalogue {
		kinds[i] = k.Kind
		kinds[i].Calls = k.call != nil
	}

	return kinds
}
