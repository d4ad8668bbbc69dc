package operator

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
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
