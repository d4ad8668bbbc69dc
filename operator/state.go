package operator

import (
	"context"
	"fmt"
	"os"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// beginWithState prepares an operation on the state alone: it needs neither a valid inventory nor a host that answers.
func (o *Operator) beginWithState(ctx context.Context, consent string) (*session, *toolchain.Installed, error) {
	s := o.session(consent)
	tools, err := o.beginOnState(ctx, s)
	return s, tools, err
}

// beginOnState prepares such an operation with a given session.
func (o *Operator) beginOnState(ctx context.Context, s *session) (*toolchain.Installed, error) {
	if err := s.checkState(); err != nil {
		return nil, refused(err)
	}
	tools, err := o.installTools(ctx)
	if err != nil {
		return nil, err
	}
	return tools, s.attach(ctx, tools)
}

// checkState returns errors early that would otherwise occur after minutes.
func (s *session) checkState() error {
	if err := s.consent.check(); err != nil {
		return err
	}
	if !s.workspace.Rehearsed {
		return s.checkStateSecrets()
	}
	if _, err := os.Stat(s.workspace.Dir); err != nil {
		return fmt.Errorf("stack %s was never rehearsed (%w): `em-infra up` does that", s.workspace.Stack, err)
	}
	return nil
}

// Backups returns the backups of the stack's state, newest first.
func (o *Operator) Backups() ([]Backup, error) { return o.backups().List() }

func (o *Operator) backups() backup.Store {
	return backup.Store{Dir: o.workspace.Backups, Keep: o.options.Keep}
}

// mendState repairs the state's files after a run was killed while writing them, unless a run holds the lock.
func (o *Operator) mendState(ctx context.Context) error {
	if o.workspace.StateFolder() == "" {
		return nil // an object of a bucket is written completely or not at all
	}
	other, err := recovery.Owner(ctx, o.stateAt())
	if err != nil {
		return refused(err)
	}
	if other != nil {
		return nil
	}
	mended, err := recovery.MendState(o.workspace.Backend, workspace.Project, o.workspace.Stack)
	o.recovered(mended...)
	return err
}

// stateAt returns where the state is.
func (o *Operator) stateAt() recovery.Place { return o.placeAt(o.workspace.Backend) }
