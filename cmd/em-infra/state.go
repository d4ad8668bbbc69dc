package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/backup"
	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newStateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "state",
		Short: "The state of a stack: what the engine knows of what it made",
		Long:  `The state of a stack is what the engine knows of what it made. up and destroy keep backups of it; these commands list the backups, put one back, and move the state to another place.`,
	}
	command.AddCommand(newStateBackupCommand(), newStateListCommand(), newStateRestoreCommand(), newStateUnlockCommand(), newStateMigrateCommand())
	return command
}

// openState gets the engine ready for a stack's state alone: no inventory has to be sound, and no host has to answer.
func openState(ctx context.Context, flags stackFlags, consent string, streams streams) (*session, *toolchain.Installed, error) {
	s, err := newSession(flags, consent, streams)
	if err != nil {
		return nil, nil, refused(err)
	}
	if err := s.checkState(); err != nil {
		return nil, nil, refused(err)
	}
	tools, err := toolchain.Install(ctx, toolchain.Options{Progress: s.out, Rehearsal: s.workspace.Rehearsed})
	if err != nil {
		return nil, nil, err
	}
	if err := s.workspace.Prepare(); err != nil {
		return nil, nil, err
	}
	if err := tools.Populate(s.workspace.Home); err != nil {
		return nil, nil, err
	}
	return s, tools, s.attach(tools)
}

// newSession is a session that knows where it is and nothing else.
func newSession(flags stackFlags, consent string, streams streams) (*session, error) {
	s := &session{place: flags.place(), keep: flags.keep, streams: streams}
	if !flags.yes {
		s.consent = consent
	}
	var err error
	s.workspace, err = flags.workspace()
	return s, err
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

func (s *session) backups() backup.Store { return backup.Store{Dir: s.workspace.Backups, Keep: s.keep} }

// checkNotLost refuses to begin anew where there was a state before: the engine would make everything once more.
func (s *session) checkNotLost() error {
	backups, err := s.backups().List()
	if err != nil || len(backups) == 0 {
		return err
	}
	return fmt.Errorf("the state of stack %s is gone, but backups of it are here: put the newest back with `em-infra state restore %s`; only if everything that it made is deleted, begin anew by moving %s away",
		s.workspace.Stack, s.place, workspace.Nearby(s.workspace.Backups))
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
	s.report(mended)
	return err
}
