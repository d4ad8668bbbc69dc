package task

import (
	"context"
	"time"
)

// Faults is called for every worker before its work, so that a test or a user can make it fail. Implementations must be safe
// for concurrent use.
type Faults interface {
	// Step is called by a worker before the named step. An error ends the worker.
	Step(ctx context.Context, t Info, step Step) error
	// Lag returns the additional delay until an effect is visible.
	Lag(t Info, effect Effect) time.Duration
}

// Step is a point in a worker's work.
type Step string

// The steps at which workers can fail.
const (
	StepLock     Step = "lock"
	StepAllocate Step = "allocate"
	StepCopy     Step = "copy"
	StepStart    Step = "start"
	StepShutdown Step = "shutdown"
	StepDownload Step = "download"
	StepReload   Step = "reload"
)

// Effect is a result of a worker that can be delayed.
type Effect string

// The effects that can be delayed.
const (
	// EffectUnlock is the end of the lock that a clone puts on its configuration.
	EffectUnlock Effect = "unlock"
	// EffectStatus is the change of a VM's status to running.
	EffectStatus Effect = "status"
)
