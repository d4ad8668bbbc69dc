package task

import (
	"context"
	"time"
)

// Faults is the one place that every worker passes before it does its work, so that a test or an operator can make it fail.
// Implementations must be safe for concurrent use.
type Faults interface {
	// Step is asked by a worker before the named step. An error ends the worker.
	Step(ctx context.Context, t Info, step Step) error
	// Lag tells how much longer than the worker an effect takes to show.
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

// Effect is what a worker leaves behind.
type Effect string

// The effects that can lag behind.
const (
	// EffectUnlock is the end of the lock that a clone puts on its configuration.
	EffectUnlock Effect = "unlock"
	// EffectStatus is the status of a VM turning to running.
	EffectStatus Effect = "status"
)
