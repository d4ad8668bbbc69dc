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
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// MigrateOptions are the options of [Operator.Migrate].
type MigrateOptions struct {
	// To is the URL of the new location: s3://BUCKET, gs://BUCKET, azblob://CONTAINER or file://FOLDER. Required.
	To string
	// With are the other stacks of the project, which must move too, because Pulumi.yaml names one location for all. Default: none.
	With []string
}

// Check refuses a URL that cannot hold a state.
func (m MigrateOptions) Check() error { return refused(checkBackend(m.To)) }

// Migrate moves the state to another location, after consent. It copies the state, reads the copy back and compares it, writes the
// new location into Pulumi.yaml, and removes the old state. A backup stays.
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
	if err := first.checkPlace(ctx, first.workspace.At(options.To).Backend); err != nil {
		return err
	}
	moving := append([]string{o.workspace.Stack}, options.With...)
	if err := checkAllMove(ctx, first.state, moving); err != nil {
		return err
	}
	if err := first.consent.ask(ctx); err != nil {
		return err
	}
	var moved []engine.State
	for _, stack := range moving {
		s, err := o.beginWithStateOf(ctx, stack)
		if err != nil {
			return err
		}
		defer s.recovery.Release(ctx)
		if err := s.copyState(ctx, options.To); err != nil {
			return err
		}
		moved = append(moved, s.state.State)
	}
	return finishMigration(ctx, first, moved, options.To)
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

// checkAllMove refuses to leave a stack in the old location, which Pulumi.yaml will no longer name.
func checkAllMove(ctx context.Context, state *stackstate.State, moving []string) error {
	stacks, err := state.Stacks(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, stack := range stacks {
		if !slices.Contains(moving, stack) {
			left = append(left, stack)
		}
	}
	if len(left) > 0 {
		return refused(fmt.Errorf("the state of %s is in the same place and Pulumi.yaml names one for all: add --with %s", strings.Join(left, ", "), strings.Join(left, ",")))
	}
	return nil
}

// copyState copies the state to its new location and reads it back. The old one stays in use.
func (s *session) copyState(ctx context.Context, to string) error {
	if _, err := s.recovery.ClearLocks(ctx); err != nil {
		return err
	}
	if _, err := s.state.BackUp(ctx, "before-migrate"); err != nil {
		return err
	}
	have, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if len(have.Deployment.PendingOperations) > 0 {
		return refused(fmt.Errorf("a run on stack %s was killed and is not settled: run `em-infra up %s` first", s.workspace.Stack, s.place.Stack))
	}
	target := s.state.State
	target.Env = maps.Clone(s.state.Env)
	maps.Copy(target.Env, s.workspace.At(to).Environment())
	if _, err := target.Export(ctx); !errors.Is(err, engine.ErrNoStack) {
		if err != nil {
			return err
		}
		return refused(fmt.Errorf("%s holds a state of stack %s already: choose another place, or remove that one with `pulumi stack rm`", to, s.workspace.Stack))
	}
	if err := target.Create(ctx); err != nil {
		return err
	}
	return copyInto(ctx, target, have)
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

// finishMigration writes the new location first and removes the old states last, so that the state in use is always complete.
func finishMigration(ctx context.Context, first *session, moved []engine.State, to string) error {
	if err := first.workspace.MoveBackend(to); err != nil {
		return err
	}
	for _, old := range moved {
		if err := old.Remove(ctx); err != nil {
			return fmt.Errorf("%w: the new state is in use; remove the old one by hand", err)
		}
		first.emit(StateMoved{Stack: old.Stack, To: to})
	}
	return nil
}
