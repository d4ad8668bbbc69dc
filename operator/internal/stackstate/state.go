// Package stackstate contains the state of a stack during one operation: it is read once between two runs of the engine, backed up,
// and written back after changes.
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

// State is the state of a stack.
type State struct {
	engine.State

	// Backups contains the backups of the state.
	Backups backup.Store
	// Place contains the stack and flags for the commands in messages.
	Place remedy.Place
	// Now returns the present time.
	Now func() time.Time
	// Kept receives each backup that is written.
	Kept func(backup.Kept)
	// Bucket opens the copies of the backups in the bucket with the state; it returns nil if the state is in none. Default: nil, it is in
	// none.
	Bucket func(context.Context) (*backup.Remote, error)

	// Reach returns why nothing can be stored in the place of the state now; nil if something can. It is called for a state that cannot be read.
	// Default: nil, it is not called.
	Reach func() error

	exported   *engine.Exported // the cache of Last
	exportedAt uint64           // the CLI's number of writes at that time
}

// Seen returns the state with its secrets, for reading only: it is exported once between two runs of the engine. Its error contains
// what to do if the state cannot be read. To change the state, use [State.Fresh].
func (s *State) Seen(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.Last(ctx)
	return exported, s.readable(ctx, err)
}

// Fresh exports the state in order to change it, because another run may have written it since the last read. Its errors are the
// same as for [State.Seen].
func (s *State) Fresh(ctx context.Context) (*engine.Exported, error) {
	exported, err := s.Export(ctx)
	return exported, s.readable(ctx, err)
}

// Last returns the last export of the state, unless the CLI may have changed it since. The error is the engine's own;
// [State.Unreadable] adds what to do.
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

// Unreadable adds to an error what to do about a state that cannot be read. If its place cannot be reached, it returns why: the state may be
// whole.
func (s *State) Unreadable(err error) error {
	if newer := new(engine.FormatError); errors.As(err, &newer) {
		return refusal.Of(newer)
	}
	if err := s.CheckPlace(); err != nil {
		return err
	}
	remedy := "put a backup back with `em-infra state restore " + s.Place.Stack + "`"
	if errors.Is(err, engine.ErrNoStack) {
		return refusal.Of(fmt.Errorf("there is no state of stack %s: `em-infra up` makes one; if there was one, %s", s.Place.Name, remedy))
	}
	return refusal.Of(fmt.Errorf("the state of stack %s cannot be read (%w): %s", s.Place.Name, err, remedy))
}

// CheckPlace returns why nothing can be stored in the place of the state now; nil if something can, and if there is no [State.Reach].
func (s *State) CheckPlace() error {
	if s.Reach == nil {
		return nil
	}
	return s.Reach()
}

// BackUp writes a backup of the state, whose secrets stay encrypted, and reports it to Kept. It returns nil if the state is empty. An error in the
// bucket is in the result: the backup is kept.
func (s *State) BackUp(ctx context.Context, reason string) (*backup.Kept, error) {
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
	kept := backup.Kept{Backup: saved}
	kept.Bucket, kept.NotInBucket = s.Send(ctx, saved.Name)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.Kept(kept)
	return &kept, nil
}

// Send copies the backups that the bucket with the state lacks, and returns the bucket; empty if the state is in none. The backups named in spared
// were just made: they are sent no matter how old they seem.
func (s *State) Send(ctx context.Context, spared ...string) (string, error) {
	if s.Bucket == nil {
		return "", nil
	}
	remote, err := s.Bucket(ctx)
	if err != nil || remote == nil {
		return "", err
	}
	local, err := s.Backups.List()
	if err == nil {
		_, err = remote.Send(ctx, local, spared...)
	}
	if err := errors.Join(err, remote.Objects.Close()); err != nil {
		return "", err
	}
	return remote.Objects.String(), nil
}

// Past returns the states in the backups, newest first.
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
