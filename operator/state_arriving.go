package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"time"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// arrivingState is the note in the new place of a state while it moves there. It is removed at the end, so a move that was cut off has left
// it, and a later run finishes the move.
type arrivingState struct {
	// From is the URL of the place that it comes from.
	From string `json:"from"`
	// Written is when an engine wrote the state last, before it was copied.
	Written time.Time `json:"written"`
	// Complete is true once the copy was read back and compared.
	Complete bool `json:"complete"`
}

// stateArrival is the arrival of the state of a stack in the present place.
type stateArrival struct {
	*Operator

	state *stackstate.State
	place remedy.Place
}

func (s *session) arrival() stateArrival {
	return stateArrival{Operator: s.Operator, state: s.state, place: s.place}
}

// finish finishes a move of the state to the present place that was cut off, and reports whether there was one. It refuses to remove a
// state that was written after it was copied.
func (a stateArrival) finish(ctx context.Context) (bool, error) {
	var note arrivingState
	here := a.workspace.Backend
	found, err := a.readNote(ctx, here, noteArriving, &note)
	if err != nil || !found {
		return false, a.unreadable(err)
	}
	file := path.Base(a.workspace.StackFile())
	if !note.Complete {
		return false, refused(fmt.Errorf("the state of stack %s was not yet copied from %s when its move was cut off, and %s names the new place: write `em-infra:backend: %s` below config in it, then run `em-infra state migrate %s --to '%s'` again",
			a.workspace.Stack, shown(note.From), file, note.From, a.place.Stack, here))
	}
	if isAbsentFolder(note.From) {
		return false, nil // it is one of another computer, whose next run finishes the move
	}
	left := stateAt(a.state.State, a.workspace, a.workspace.At(note.From))
	written, err := writtenAt(ctx, left)
	switch {
	case errors.Is(err, engine.ErrNoStack):
	case err != nil:
		a.emit(Note{Text: fmt.Sprintf("warning: em-infra could not find out whether %s still has the state of stack %s, which was moved to %s: %s", shown(note.From), a.workspace.Stack, shown(here), err)})
		return false, nil
	case !written.Equal(note.Written):
		return false, refused(fmt.Errorf("the state of stack %s was moved from %s to %s, and the old copy was changed afterwards (at %s; what was moved is of %s), by a run with an older %s: to keep the old copy, write `em-infra:backend: %s` below config in that file; to drop it, remove it with %s",
			a.workspace.Stack, shown(note.From), shown(here), timeOf(written), timeOf(note.Written), file, note.From, removalOf(note.From, a.workspace.Stack)))
	default:
		if err := a.clearLeft(ctx, note.From); err != nil {
			return false, err
		}
		if err := left.Remove(ctx); err != nil {
			return false, err
		}
	}
	a.emit(Recovered{What: fmt.Sprintf("the move of the state from %s was cut off: what was left there is removed", shown(note.From))})
	return true, a.endMove(ctx, note.From, here)
}

// removalOf returns the command that removes the state of a stack in a place, which is not that of the stack's file.
func removalOf(backend, stack string) string {
	return fmt.Sprintf("`PULUMI_BACKEND_URL='%s' pulumi stack rm --stack %s --force --preserve-config`", backend, stack)
}

// writtenAt returns when an engine wrote a state last. The error wraps [engine.ErrNoStack] if there is none.
func writtenAt(ctx context.Context, state engine.State) (time.Time, error) {
	text, err := state.ExportSealed(ctx)
	if err != nil {
		return time.Time{}, err
	}
	exported, err := state.Read(text)
	if err != nil {
		return time.Time{}, err
	}
	return exported.Deployment.Manifest.Time, nil
}

func (a stateArrival) unreadable(err error) error {
	if err == nil {
		return nil
	}
	return refused(fmt.Errorf("the note on a move of the state of stack %s cannot be read (%w): look for it in %s", a.workspace.Stack, err, a.workspace.ShownBackend()+"/"+noteArriving.folder()))
}

// endMove leaves the note of a move, and removes the one on the arrival.
func (o *Operator) endMove(ctx context.Context, from, to string) error {
	return errors.Join(o.noteMove(ctx, from, to), o.removeNote(ctx, to, noteArriving))
}

// stateAt returns a state in another place, which does not set everything that the present one sets, such as the compression.
func stateAt(of engine.State, present, place *workspace.Workspace) engine.State {
	of.Env = maps.Clone(of.Env)
	for name := range present.Environment() {
		delete(of.Env, name)
	}
	maps.Copy(of.Env, place.Environment())
	return of
}

func timeOf(t time.Time) string { return t.UTC().Format(time.DateTime) }
