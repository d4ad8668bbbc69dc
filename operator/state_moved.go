package operator

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/workspace"
)

// movedState is the note in a place from which the state of a stack was moved. Without it, a run with an older file of the stack would begin
// a second, empty state there.
type movedState struct {
	// To is the URL of the new place.
	To string `json:"to"`
	// At is when it was moved.
	At time.Time `json:"at"`
}

// noteMove leaves the note in the place that the state has left, and removes the one that an earlier move has left in the new place.
func (o *Operator) noteMove(ctx context.Context, from, to string) error {
	return errors.Join(
		o.writeNote(ctx, from, noteMoved, movedState{To: to, At: o.clock.Now().UTC().Truncate(time.Second)}),
		o.removeNote(ctx, to, noteMoved),
	)
}

// checkNotMoved refuses a place from which the state was moved. It is asked when there is no state.
func (o *Operator) checkNotMoved(ctx context.Context) error {
	var moved movedState
	found, err := o.readNote(ctx, o.workspace.Backend, noteMoved, &moved)
	switch {
	case found && err != nil:
		return fmt.Errorf("the note on where the state of stack %s was moved to cannot be read (%w): look for it in %s", o.workspace.Stack, err, o.workspace.ShownBackend()+"/"+noteMoved.folder())
	case err != nil || !found:
		return err
	}
	return fmt.Errorf("the state of stack %s is not in %s any more, it was moved to %s on %s: take the newest %s from git, or write `em-infra:backend: %s` below config in it",
		o.workspace.Stack, o.workspace.ShownBackend(), shown(moved.To), moved.At.Format(time.DateOnly), path.Base(o.workspace.StackFile()), moved.To)
}

func shown(url string) string {
	without, _, _ := strings.Cut(url, "?")
	return without
}

// checkFirst refuses to create a state for a stack that has had one: it may be elsewhere. A rehearsal in its own folder begins anew when
// that is emptied, and the draft of an adoption is in another place on purpose.
func (s *session) checkFirst() error {
	own := *s.workspace
	if err := own.RereadBackend(); err != nil || own.Backend != s.workspace.Backend {
		return err
	}
	had, err := s.workspace.HadState()
	if err != nil || !had || s.workspace.Rehearsed && s.workspace.StateFolder() != "" {
		return err
	}
	file := workspace.Nearby(s.workspace.StackFile())
	return fmt.Errorf("stack %s has had a state (%s has its salt or key), and %s has none: if it is elsewhere, write its URL as em-infra:backend below config in that file; if it is lost, see `em-infra state list %s` and `em-infra adopt`; for a new cluster, delete the lines encryptionsalt and encryptedkey there, and the values that they seal",
		s.workspace.Stack, file, s.workspace.ShownBackend(), s.place.Stack)
}
