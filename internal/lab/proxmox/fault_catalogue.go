package proxmox

import (
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

// faultKind is a failure of the catalogue. It concerns calls, or a step of workers, or an effect that they leave.
type faultKind struct {
	fault.Kind

	// call tells which calls it concerns, answer what they get. Without an answer the call is done, and lost is how its
	// caller does not hear of it.
	call   func(Call) bool
	answer func(Call) error
	lost   bool

	// step and work tell which workers it concerns, those of all kinds where there is no work; fail is what they end
	// with. A fault without it only takes time.
	step Step
	work func(TaskInfo) bool
	fail func(TaskInfo) error
	// hangs keeps the worker at the step until it is stopped, or until the fault is cleared, as a storage does that answers again.
	hangs bool

	// effect lags by lag.
	effect Effect
	lag    time.Duration

	// wait is the host's time that passes before the failure.
	wait time.Duration
}

// catalogue is what can be asked for. The texts are those that real hosts answer with.
var catalogue = slices.Concat(callFaults, workFaults)

// FaultKinds are the failures of a host that can be asked for.
func FaultKinds() []fault.Kind {
	kinds := make([]fault.Kind, len(catalogue))
	for i, k := range catalogue {
		kinds[i] = k.Kind
		kinds[i].Calls = k.call != nil
	}

	return kinds
}
