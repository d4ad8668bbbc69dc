package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
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

// Migrate moves the state to another location, after consent. It copies the state, reads the copy back and compares it, writes the
// new location into the stack's file, and removes the old state. A backup stays, and in the old location a note of the new one.
func (o *Operator) Migrate(ctx context.Context, options MigrateOptions) error {
	if err := options.Check(); err != nil {
		return err
	}
	first, _, err := o.beginWithState(ctx, "move its state")
	if err != nil {
		return err
	}
	if first.workspace.At(options.To).Backend == first.workspace.Backend {
		return refused(fmt.Errorf("the state is there already: %s", options.To))
	}
	if err := first.statePlace(first.workspace.At(options.To).Backend).check(ctx); err != nil {
		return err
	}
	if err := first.consent.ask(ctx); err != nil {
		return err
	}
	for _, stack := range append([]string{o.workspace.Stack}, options.With...) {
		s, err := o.beginWithStateOf(ctx, stack)
		if err != nil {
			return err
		}
		err = migration{Operator: s.Operator, state: s.state, to: options.To, clearLocks: s.recovery.ClearLocks}.run(ctx)
		s.recovery.Release(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

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
		return fmt.Errorf("%w: the new state is in use; remove the old one by hand", err)
	}
	m.emit(StateMoved{Stack: m.workspace.Stack, To: m.to})
	if err := m.noteMove(ctx, at.Backend); err != nil {
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
	target := m.state.State
	target.Env = maps.Clone(m.state.Env)
	for name := range m.workspace.Environment() {
		delete(target.Env, name) // what the other place does not set, such as the compression
	}
	maps.Copy(target.Env, m.workspace.At(m.to).Environment())
	if _, err := target.Export(ctx); !errors.Is(err, engine.ErrNoStack) {
		if err != nil {
			return err
		}
		return refused(fmt.Errorf("%s holds a state of stack %s already: choose another place, or remove that one with `pulumi stack rm`", m.to, m.workspace.Stack))
	}
	if err := target.Create(ctx); err != nil {
		return err
	}
	return copyInto(ctx, target, have)
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
