package operator

import (
	"errors"

	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// RefusedError is the error of an operation that changed nothing: validation, preflight, a risk without its flag, or missing
// consent. Its Err contains the reason and what to do.
type RefusedError = refusal.Error

// refused returns a [RefusedError].
func refused(err error) error { return refusal.Of(err) }

// FailedError is the error of an operation whose engine failed. The state contains what was done, so the operation can be run again.
type FailedError struct {
	// Operation is the operation that failed: "up", "preview", "destroy" or "adopt".
	Operation string
	// Again is the command of em-infra that continues the operation, without the tool's name.
	Again string
	// Causes are the root causes, in the order in which they were reported. After an interrupt they are what did not end well; empty if all did.
	Causes []Cause
	// Interrupted reports whether the context ended.
	Interrupted bool
	// WaysBack are the commands that roll systems back to the snapshots that the run has taken before it changed them, such as
	// "tools: `qm rollback 210 em-infra-20261126-100000` on vmhost"; empty if it has taken none.
	WaysBack []string
}

func (e *FailedError) Error() string {
	text := e.Operation + " failed"
	if e.Interrupted {
		text = e.Operation + " was interrupted; " + e.Interruption()
	}
	for _, one := range e.Causes {
		text += "\n"
		if one.Name != "" {
			text += one.Name + ": "
		}
		text += one.Text
	}
	return text
}

// Interruption returns how an interrupted operation ended.
func (e *FailedError) Interruption() string {
	switch {
	case len(e.Causes) > 0:
		return "not everything that was under way ended well"
	case e.Operation == opUp, e.Operation == opDestroy:
		return "the state is saved and says what exists"
	default:
		return "nothing was changed"
	}
}

// ErrChanges is the error of a result with changes or drift.
var ErrChanges = errors.New("there are changes")

// ErrNotWell is the error of a result in which something is wrong or could not be read.
var ErrNotWell = errors.New("not all is well")
