package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// BackUp keeps a copy of the state, its secrets encrypted as they are. Up and Destroy do so by themselves.
func (o *Operator) BackUp(ctx context.Context) (*Backup, error) {
	s, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return nil, err
	}
	saved, err := s.backUp(ctx, "by-hand")
	if err == nil && saved == nil {
		err = refused(fmt.Errorf("the state of stack %s holds nothing: bring the cluster up first", s.workspace.Stack))
	}
	return saved, err
}

// backUp keeps a copy of the state, and tells where; nil when there is nothing in it to keep.
func (s *session) backUp(ctx context.Context, reason string) (*backup.Backup, error) {
	text, err := s.state.ExportSealed(ctx)
	if err != nil {
		return nil, s.unreadable(err)
	}
	exported, err := s.state.Read(text)
	if err != nil {
		return nil, s.unreadable(err)
	}
	if len(exported.Deployment.Resources)+len(exported.Deployment.PendingOperations) == 0 {
		return nil, nil
	}
	saved, err := s.backups().Save(s.clock.Now(), reason, text)
	if err != nil {
		return nil, err
	}
	s.emit(BackedUp{saved})
	return &saved, nil
}

// readState is the stack's state with its secrets, or what to do about one that cannot be read. It is for those who look:
// between two runs of the engine it is exported once. Who changes the state takes [session.freshState].
func (s *session) readState(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.lastState(ctx)
	return exported, s.readable(ctx, err)
}

// freshState is readState for those who put the state back changed: another run may have written it since it was read last.
func (s *session) freshState(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.state.Export(ctx)
	return exported, s.readable(ctx, err)
}

// lastState is the state as it was exported last, unless the CLI may have changed it since.
func (s *session) lastState(ctx context.Context) (*engine.Exported, error) {
	writes := s.state.Command.Writes()
	if s.exported == nil || s.exportedAt != writes {
		exported, err := s.state.Export(ctx)
		if err != nil {
			return nil, err
		}
		s.exported, s.exportedAt = exported, writes
	}
	return s.exported.Copy()
}

func (s *session) readable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return s.unreadable(err)
	}
}

// unreadable says what to do about a state that cannot be read.
func (s *session) unreadable(err error) error {
	remedy := "put a backup back with `em-infra state restore " + s.place.Stack + "`"
	if errors.Is(err, engine.ErrNoStack) {
		return refused(fmt.Errorf("there is no state of stack %s: `em-infra up` makes one; if there was one, %s", s.workspace.Stack, remedy))
	}
	return refused(fmt.Errorf("the state of stack %s cannot be read (%w): %s", s.workspace.Stack, err, remedy))
}
