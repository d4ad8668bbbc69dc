package rolling

import (
	"errors"
	"fmt"
	"time"
)

// closedError is why a lane is closed, for use inside a sentence.
type closedError struct{ node string }

func (e *closedError) Error() string {
	return e.node + " did not come back from its change: mend that node, then run up again"
}

// joinsError means that a node waits for a control plane that joins.
type joinsError struct{ node Node }

func (e *joinsError) Error() string { return e.node.Name + " joins" }

// isFinal reports whether a further check cannot change the error.
func isFinal(err error) bool {
	closed, joins := new(closedError), new(joinsError)
	return errors.Is(err, errStaysOff) || errors.As(err, &closed) || errors.As(err, &joins)
}

// SilentError is an error of [Cluster.Spare] that concerns the changed node itself, and not the others: the node does not report what must be known
// about it before its change.
type SilentError struct {
	// Unknown completes "it is not known", as in "whether its configuration reboots it".
	Unknown string
	Err     error
}

func (e *SilentError) Error() string { return fmt.Sprintf("%s is not known (%v)", e.Unknown, e.Err) }

// Unwrap returns what the node answered.
func (e *SilentError) Unwrap() error { return e.Err }

// errTooSoon is returned for a node that works, but not for long enough yet.
var errTooSoon = errors.New("it has worked again for a moment only")

// offError is returned for a node whose machine was not started again after its change.
type offError struct{ node string }

func (e *offError) Error() string {
	return e.node + " did not come back from its change, because its machine stays off: see in the tasks of Proxmox VE why its start failed, mend that or take the change back, then `em-infra up` starts it; no other node is touched until it works again"
}

// lostError is returned for a node that does not work after its change.
type lostError struct {
	node  string
	after time.Duration
	last  error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("%s does not work %s after its change (%v): look at the console of its VM in Proxmox VE; no other node is touched until it works again", e.node, e.after, e.last)
}

func (e *lostError) Unwrap() error { return e.last }
