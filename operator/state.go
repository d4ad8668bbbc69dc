package operator

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// beginWithState gets the engine ready for a stack's state alone: no inventory has to be sound, and no host has to answer.
func (o *Operator) beginWithState(ctx context.Context, consent string) (*session, *toolchain.Installed, error) {
	s := o.session(consent)
	if err := s.checkState(); err != nil {
		return nil, nil, refused(err)
	}
	tools, err := o.installTools(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s, tools, s.attach(tools)
}

// checkState refuses early what would be refused after minutes.
func (s *session) checkState() error {
	if err := s.checkConsent(); err != nil {
		return err
	}
	if !s.workspace.Rehearsed {
		return checkPassphrase()
	}
	if _, err := os.Stat(s.workspace.Dir); err != nil {
		return fmt.Errorf("stack %s was never rehearsed (%w): `em-infra up --lab` does that", s.workspace.Stack, err)
	}
	return nil
}

// Backups are the copies of the stack's state, newest first.
func (o *Operator) Backups() ([]Backup, error) { return o.backups().List() }

func (o *Operator) backups() backup.Store {
	return backup.Store{Dir: o.workspace.Backups, Keep: o.options.Keep}
}

// checkNotLost refuses to begin anew where there was a state before: the engine would make everything once more.
func (s *session) checkNotLost() error {
	backups, err := s.backups().List()
	if err != nil || len(backups) == 0 {
		return err
	}
	return fmt.Errorf("the state of stack %s is gone, but backups of it are here: put the newest back with `em-infra state restore %s`; only if everything that it made is deleted, begin anew by moving %s away",
		s.workspace.Stack, s.place.Stack, workspace.Nearby(s.workspace.Backups))
}

// mendState mends what a run that was killed while it wrote has left torn of the state's files, unless somebody works on it.
func (s *session) mendState() error {
	locks, err := recovery.Locks(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	if err != nil {
		return refused(err)
	}
	if slices.ContainsFunc(locks, func(lock recovery.Lock) bool { return !lock.Stale }) {
		return nil
	}
	mended, err := recovery.MendState(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	s.recovered(mended...)
	return err
}
