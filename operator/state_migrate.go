package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// MigrateOptions are the options of [Operator.Migrate].
type MigrateOptions struct {
	// To is the URL of the new location: s3://BUCKET, gs://BUCKET, azblob://CONTAINER or file://FOLDER. Required.
	To string
	// With are other stacks of the project that move as well. Default: none.
	With []string
}

// Check refuses a URL that cannot hold a state.
func (m MigrateOptions) Check() error { return refused(checkBackend(m.To)) }

// Migrate moves the state to another location, after consent. It copies the state, reads the copy back and compares it, writes the new location into
// the stack's file, and removes the old state. A backup stays, and the old location gets a note of the new one.
func (o *Operator) Migrate(ctx context.Context, options MigrateOptions) error {
	if err := options.Check(); err != nil {
		return err
	}
	first, _, err := o.beginWithState(ctx, "move its state")
	if err != nil {
		return err
	}
	finished, err := first.arrival().finish(ctx)
	if err != nil {
		return err
	}
	if first.isAt(options.To) && len(options.With) == 0 {
		if finished {
			return nil
		}
		return refused(fmt.Errorf("the state is there already: %s: nothing is left to do, unless --to was to name another place", options.To))
	}
	if err := first.statePlace(first.workspace.At(options.To).Backend).check(ctx); err != nil {
		return err
	}
	if err := first.consent.ask(ctx); err != nil {
		return err
	}
	for _, stack := range append([]string{o.workspace.Stack}, options.With...) {
		if err := o.migrateStack(ctx, stack, options.To); err != nil {
			return err
		}
	}
	return nil
}

// migrateStack moves the state of one stack, unless it is there already: an earlier run that moved several may have been cut off.
func (o *Operator) migrateStack(ctx context.Context, stack, to string) error {
	s, err := o.beginWithStateOf(ctx, stack)
	if err != nil {
		return err
	}
	defer s.recovery.Release(ctx)
	if _, err := s.arrival().finish(ctx); err != nil || s.isAt(to) {
		return err
	}
	return migration{Operator: s.Operator, state: s.state, to: to, clearLocks: s.recovery.ClearLocks}.run(ctx)
}

// isAt reports whether the state of the stack is in a place.
func (o *Operator) isAt(url string) bool { return o.workspace.At(url).Backend == o.workspace.Backend }

// migration moves the state of one stack to another location.
type migration struct {
	*Operator

	state      *stackstate.State
	to         string // URL of the new location
	clearLocks func(context.Context) (int, error)
}

// run moves the state of one stack. The new location is written first and the old state removed last, so that the state in use is
// always complete.
func (m migration) run(ctx context.Context) error {
	if err := m.copy(ctx); err != nil {
		return err
	}
	at := m.workspace.At(m.to)
	if err := at.MoveBackend(m.to); err != nil {
		return err
	}
	if err := m.state.Remove(ctx); err != nil {
		return fmt.Errorf("%w: the new state is in use; the next run removes the old one", err)
	}
	m.emit(StateMoved{Stack: m.workspace.Stack, To: m.to})
	if err := m.endMove(ctx, m.workspace.Backend, at.Backend); err != nil {
		m.emit(Note{Text: fmt.Sprintf("warning: %s has no note that the state of stack %s was moved, because %s", m.workspace.ShownBackend(), m.workspace.Stack, err)})
	}
	m.state.Bucket = func(ctx context.Context) (*backup.Remote, error) { return m.backupBucketAt(ctx, at.Backend) }
	if _, err := m.state.Send(ctx); err != nil {
		m.tellUnsent(err)
	}
	return nil
}

// copy copies the state to its new location and reads it back. The old one stays in use.
func (m migration) copy(ctx context.Context) error {
	if _, err := m.clearLocks(ctx); err != nil {
		return err
	}
	if _, err := m.state.BackUp(ctx, "before-migrate"); err != nil {
		return err
	}
	have, err := m.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if len(have.Deployment.PendingOperations) > 0 {
		return refused(fmt.Errorf("a run on stack %s was killed and is not settled: run `em-infra up %s` first", m.workspace.Stack, m.remedies().Stack))
	}
	at := m.workspace.At(m.to)
	end, err := m.claimThere(ctx, at.Backend)
	if err != nil {
		return err
	}
	return errors.Join(m.copyTo(ctx, at, have), end())
}

// copyTo copies a state to a place that this run has claimed.
func (m migration) copyTo(ctx context.Context, at *workspace.Workspace, have *engine.Exported) error {
	target := stateAt(m.state.State, m.workspace, at)
	if err := m.prepare(ctx, target, at.Backend); err != nil {
		return err
	}
	note := arrivingState{From: m.workspace.Backend, Written: have.Deployment.Manifest.Time}
	if err := m.writeNote(ctx, at.Backend, noteArriving, note); err != nil {
		return err
	}
	if err := copyInto(ctx, target, have); err != nil {
		return err
	}
	note.Complete = true
	return m.writeNote(ctx, at.Backend, noteArriving, note)
}

// prepare makes an empty state in the new place. One that is empty, or that an earlier move of this state has left, is taken.
func (m migration) prepare(ctx context.Context, target engine.State, backend string) error {
	there, err := target.Export(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return target.Create(ctx)
	}
	if err != nil {
		return err
	}
	var note arrivingState
	found, err := m.readNote(ctx, backend, noteArriving, &note)
	if err != nil {
		return err
	}
	isEmpty := len(there.Deployment.Resources)+len(there.Deployment.PendingOperations) == 0
	if isEmpty || found && note.From == m.workspace.Backend {
		return nil
	}
	return refused(fmt.Errorf("%s holds a state of stack %s already: choose another place, or remove that one with %s", m.to, m.workspace.Stack, removalOf(backend, m.workspace.Stack)))
}

// beginWithStateOf is beginWithState for another stack of the project; consent was given already.
func (o *Operator) beginWithStateOf(ctx context.Context, stack string) (*session, error) {
	options := o.options
	options.Stack, options.Yes = stack, true
	other, err := Open(options)
	if err != nil {
		return nil, err
	}
	s, _, err := other.beginWithState(ctx, "")
	return s, err
}

// backendSchemes are the schemes of locations that need no service (pulumi pkg/v3 v3.254.0, backend/diy).
var backendSchemes = []string{"file://", "s3://", "gs://", "azblob://"}

func checkBackend(url string) error {
	if url == "" {
		return errors.New("no place is named: add --to URL, e.g. --to s3://BUCKET")
	}
	if !slices.ContainsFunc(backendSchemes, func(scheme string) bool { return strings.HasPrefix(url, scheme) }) {
		return fmt.Errorf("--to: %q is no place for a state: begin with one of %s", url, strings.Join(backendSchemes, ", "))
	}
	return nil
}

// copyInto imports a state and compares the result with the original.
func copyInto(ctx context.Context, target engine.State, have *engine.Exported) error {
	if len(have.Deployment.Resources) == 0 {
		return nil // an empty stack is complete after its creation
	}
	if err := target.Import(ctx, have); err != nil {
		return err
	}
	copied, err := target.Export(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(copied.Deployment.Resources, have.Deployment.Resources) {
		return fmt.Errorf("the copy of the state of %s is not what was copied; the old one is still in use: choose another place", target.Stack)
	}
	return nil
}
