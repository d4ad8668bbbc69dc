package nodeops

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How long a node must be in an unexpected state before it counts. A single look can hit a change half way, e.g. a service
// that stops or a clock that is being set.
const (
	foreignPatience  = 5 * time.Second
	returnedPatience = 5 * time.Second
	// goneLooks is the number of silent looks in a row that mean the node was gone. A single one may be a slow call.
	goneLooks = 3
	// maintenancePatience is for a node that has received its configuration and is still in maintenance mode. Talos leaves it
	// within a second (v1.12.4, internal/app/maintenance/server.go, ApplyConfiguration).
	maintenancePatience = time.Minute
	// clockPatience covers the first synchronization of a clock.
	clockPatience = 2 * time.Minute
	// offPatience covers a host that reports stopped for some seconds after a start.
	offPatience = 15 * time.Second
)

// vigil judges what is seen of a node during a wait.
type vigil struct {
	address string
	// configured reports whether the node has received its configuration and so must leave maintenance mode.
	configured bool
	// machine is the node's machine as a person finds it, e.g. VM 101; "its VM" if unknown.
	machine string

	last    sighting
	since   time.Time // when its current state was first seen
	booted  time.Time // the last boot into maintenance mode that was seen; zero if none was
	silence int       // silent looks in a row
	wasGone bool      // the node was silent for a while or has rebooted
}

// judge processes the next sighting. It returns true when the node is in the expected state. The error is why the wait is
// hopeless, in one sentence that ends with what to do.
func (v *vigil) judge(now time.Time, seen sighting) (done bool, err error) {
	v.note(now, seen)
	lasted := now.Sub(v.since)
	switch {
	case seen.presence == member, seen.presence == maintenance && !v.configured:
		return true, nil
	case seen.presence == foreign && lasted >= foreignPatience:
		return false, v.wrong("a node of another cluster, or another server, answers at its address; nothing was sent to it",
			"where that is "+v.machine+" itself, its disk holds the other cluster's data: delete the VM if they are no longer needed; where it is another machine, give one of the two another address; then run up again")
	case seen.presence == untimely && lasted >= clockPatience:
		return false, v.wrong(fmt.Sprintf("a certificate is not valid at this time (%s)", answerOf(seen.answer)),
			"set the clock of this computer, and that of the node's host, or let the node reach its time servers; then run up again")
	case seen.presence == maintenance && v.wasGone && lasted >= returnedPatience:
		return false, v.wrong("it was given its configuration and is in maintenance mode without it: its installation failed, or its disk was emptied",
			"run up again, which installs it anew, and look at the console of "+v.machine+" in Proxmox VE meanwhile: Talos says there why it fails, for ten seconds before it reboots, and nowhere else")
	case seen.presence == maintenance && lasted >= maintenancePatience:
		return false, v.wrong(fmt.Sprintf("it has its configuration and has been in maintenance mode for %.0f s: it did not begin its installation, or that failed", lasted.Seconds()),
			"reset "+v.machine+" in Proxmox VE, then run up again, which configures it anew, and look at its console meanwhile")
	}
	return false, nil
}

func (v *vigil) note(now time.Time, seen sighting) {
	if seen.presence == silent {
		v.silence++
		if v.last.presence != silent && v.silence < goneLooks {
			return // one silent look shows nothing
		}
	}
	if v.since.IsZero() || seen.presence != v.last.presence || v.rebooted(seen) {
		v.wasGone = v.wasGone || v.rebooted(seen)
		v.since = now
	}
	if !seen.booted.IsZero() {
		v.booted = seen.booted
	}
	v.wasGone = v.wasGone || v.silence >= goneLooks
	if seen.presence != silent {
		v.silence = 0
	}
	v.last = seen
}

// rebooted reports whether the node has rebooted into maintenance mode since it was last seen there, regardless of what was seen in between: a look
// at the end of a boot can mistake the node for a foreign one.
func (v *vigil) rebooted(seen sighting) bool {
	return !v.booted.IsZero() && !seen.booted.IsZero() && !seen.booted.Equal(v.booted)
}

// state returns a short description of what is waited for.
func (v *vigil) state() string {
	switch v.last.presence {
	case silent:
		if v.configured {
			return "no answer: it installs, or boots"
		}
		return "no answer: it boots"
	case maintenance:
		return "in maintenance mode, with its configuration"
	case foreign:
		return "another PKI answers"
	case untimely:
		return "a certificate is not valid now"
	default:
		return "it answers"
	}
}

// late returns the error of a wait whose context has ended.
func (v *vigil) late(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("waiting for node %s: %w", v.address, context.Cause(ctx))
	}
	what := fmt.Sprintf("its Talos API does not answer under this cluster's PKI (last answer: %s)", answerOf(v.last.answer))
	if v.last.presence == silent {
		what = fmt.Sprintf("nothing answers there (%s)", answerOf(v.last.answer))
	}
	return &waitError{address: v.address, what: what, late: true,
		remedy: "look at the console of " + v.machine + " in Proxmox VE: it shows how far Talos is, and the address that it has; then run up again, it goes on from here"}
}

func (v *vigil) wrong(what, remedy string) error {
	return &waitError{address: v.address, what: what, remedy: remedy}
}

// waitError is one sentence that ends with what to do.
type waitError struct {
	address, what, remedy string
	late                  bool
}

func (e *waitError) Error() string {
	return fmt.Sprintf("node %s: %s: %s", e.address, e.what, e.remedy)
}

// Unwrap returns [context.DeadlineExceeded] if the wait ran out of time.
func (e *waitError) Unwrap() error {
	if e.late {
		return context.DeadlineExceeded
	}
	return nil
}
