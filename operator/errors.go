package operator

import (
	"errors"

	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// RefusedError ends an operation that touched nothing: validation, preflight, a risk that nobody has allowed, or a consent that
// was not given. Its Err says what is in the way and what to do.
type RefusedError = refusal.Error

// refused ends an operation that touched nothing.
func refused(err error) error { return refusal.Of(err) }

// FailedError ends an operation whose engine failed. What was done is in the state, so the operation can be run again.
type FailedError struct {
	// Operation that failed: "up", "preview" or "destroy".
	Operation string
	// Again is the command of em-infra that goes on from here, without the tool's name.
	Again string
	// Causes are what went wrong by itself, in the order in which it was reported; none where the operation was interrupted.
	Causes []Cause
	// Interrupted says that the context ended.
	Interrupted bool
}

func (e *FailedError) Error() string {
	if e.Interrupted {
		return e.Operation + " was interrupted; the state is saved and says what exists"
	}
	text := e.Operation + " failed"
	for _, one := range e.Causes {
		text += "\n"
		if one.Name != "" {
			text += one.Name + ": "
		}
		text += one.Text
	}
	return text
}

// ErrChanges is the error of a result in which something would change, or has drifted.
var ErrChanges = errors.New("there are changes")

// ErrNotWell is the error of a result in which something is not as it should be, or could not be read.
var ErrNotWell = errors.New("not all is well")
