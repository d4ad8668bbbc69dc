// Package stackstate is the state of a stack as one operation uses it: read once between two runs of the engine, kept in copies, and
// put back changed.
package stackstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// State of a stack.
type State struct {
	engine.State

	// Backups are its copies.
	Backups backup.Store
	// Place is where the commands of messages are typed.
	Place remedy.Place
	// Now is the time.
	Now func() time.Time
	// Kept is told of each copy that is made.
	Kept func(backup.Backup)

	exported   *engine.Exported // what Last keeps
	exportedAt uint64           // how often the CLI had changed a state by then
}

// Seen is the state with its secrets, for those who look: between two runs of the engine it is exported once. The error says what to
// do about one that cannot be read. Who changes the state takes [State.Fresh].
func (s *State) Seen(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.Last(ctx)
	return exported, s.readable(ctx, err)
}

// Fresh is the state for those who put it back changed: another run may have written it since it was read last. The errors are
// those of [State.Seen].
func (s *State) Fresh(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.Export(ctx)
	return exported, s.readable(ctx, err)
}

// Last is the state as it was exported last, unless the CLI may have changed it since. The error is the engine's own;
// [State.Unreadable] says what to do about it.
func (s *State) Last(ctx context.Context) (*engine.Exported, error) {
	writes := s.Command.Writes()
	if s.exported == nil || s.exportedAt != writes {
		exported, err := s.Export(ctx)
		if err != nil {
			return nil, err
		}
		s.exported, s.exportedAt = exported, writes
	}
	return s.exported.Copy()
}

func (s *State) readable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return s.Unreadable(err)
	}
}

// Unreadable says what to do about a state that cannot be read.
func (s *State) Unreadable(err error) error {
	remedy := "put a backup back with `em-infra state restore " + s.Place.Stack + "`"
	if errors.Is(err, engine.ErrNoStack) {
		return refusal.Of(fmt.Errorf("there is no state of stack %s: `em-infra up` makes one; if there was one, %s", s.Place.Name, remedy))
	}
	return refusal.Of(fmt.Errorf("the state of stack %s cannot be read (%w): %s", s.Place.Name, err, remedy))
}

// BackUp keeps a copy of the state, its secrets encrypted as they are, and tells where; nil when there is nothing in it to keep.
func (s *State) BackUp(ctx context.Context, reason string) (*backup.Backup, error) {
	text, err := s.ExportSealed(ctx)
	if err != nil {
		return nil, s.Unreadable(err)
	}
	exported, err := s.Read(text)
	if err != nil {
		return nil, s.Unreadable(err)
	}
	if len(exported.Deployment.Resources)+len(exported.Deployment.PendingOperations) == 0 {
		return nil, nil
	}
	saved, err := s.Backups.Save(s.Now(), reason, text)
	if err != nil {
		return nil, err
	}
	s.Kept(saved)
	return &saved, nil
}

// Past are the states that were kept, newest first.
func (s *State) Past() ([]recovery.Past, error) {
	backups, err := s.Backups.List()
	if err != nil {
		return nil, err
	}
	var past []recovery.Past
	for _, one := range backups {
		text, err := one.Text()
		if err != nil {
			return nil, err
		}
		exported, err := s.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read (%w): it may say that a machine was in use, so move it away only if you know better", one.Path, err)
		}
		past = append(past, recovery.Past{Name: one.Name, Deployment: exported.Deployment})
	}
	return past, nil
}
