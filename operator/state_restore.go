package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// Restored is the result of [Operator.Restore].
type Restored struct {
	Backup Backup
	// Resources is the number of resources in it.
	Resources int
}

// Restore replaces the state by a backup, after consent, whether the state is lost, damaged or wrong; "" means the newest backup that
// is not of a state that a restore has replaced. It changes nothing else. Resources that were created after the backup stay on the host and
// are no longer in the state.
func (o *Operator) Restore(ctx context.Context, backupName string) (*Restored, error) {
	s, tools, err := o.beginWithState(ctx, "put the backup back")
	if err != nil {
		return nil, err
	}
	defer s.recovery.Release(ctx)
	return s.restore(ctx, tools, backupName)
}

func (s *session) restore(ctx context.Context, tools *toolchain.Installed, from string) (*Restored, error) {
	r := s.restoration()
	chosen, restored, err := r.choose(ctx, from)
	if err != nil {
		return nil, refused(s.place.CompleteError(err))
	}
	if _, err := s.recovery.ClearLocks(ctx); err != nil {
		return nil, err
	}
	present, err := r.present(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkRotation(present, chosen, restored, from != ""); err != nil {
		return nil, refused(s.place.CompleteError(err))
	}
	planned := Restoring{Backup: chosen}
	if len(present.deployment.Resources) > 0 {
		planned.Difference = backup.Compare(present.deployment, restored.Deployment)
	}
	s.emit(planned)
	if err := s.consent.ask(ctx); err != nil {
		return nil, err
	}
	if err := s.replace(ctx, tools, restored, present); err != nil {
		return nil, err
	}
	return &Restored{Backup: chosen, Resources: len(restored.Deployment.Resources)}, nil
}

// replace puts a state in the place of the present one, which is backed up if it can be read. One that is missing is created as late as
// possible: up sees that a state is lost, and takes an empty one for that of a stack that has nothing.
func (s *session) replace(ctx context.Context, tools *toolchain.Installed, restored *engine.Exported, present presentState) error {
	create := sync.OnceValue(func() error {
		if !present.isMissing {
			return nil
		}
		return s.state.Create(ctx)
	})
	if err := s.noteBegun(ctx, tools, restored, create); err != nil {
		return err
	}
	if err := create(); err != nil {
		return err
	}
	if !present.isMissing && !present.isDamaged {
		if _, err := s.state.BackUp(ctx, backup.BeforeRestore); err != nil {
			return err
		}
	}
	return s.state.Import(ctx, restored)
}

// restoration reads the two states of a restore: that of the backup, and the present one, which it replaces.
type restoration struct {
	stack   string
	place   remedy.Place
	backups backup.Store
	find    func(ctx context.Context, name string) (Backup, error)
	state   *stackstate.State
	// mayCreate refuses a place where the state was and is not any more.
	mayCreate func(context.Context) error
	emit      func(Event)
}

func (s *session) restoration() restoration {
	return restoration{stack: s.workspace.Stack, place: s.place, backups: s.backups(), find: s.findBackup, state: s.state, mayCreate: s.checkNotMoved, emit: s.emit}
}

// choose reads a complete backup before anything is changed.
func (r restoration) choose(ctx context.Context, name string) (backup.Backup, *engine.Exported, error) {
	chosen, err := r.find(ctx, name)
	if errors.Is(err, backup.ErrNone) {
		err = fmt.Errorf("stack %s has no backup in %s: if its machines run, write the state anew with `em-infra adopt`", r.stack, workspace.Nearby(r.backups.Dir))
	}
	if err != nil {
		return chosen, nil, err
	}
	if chosen.NeedsFormerPassphrase() {
		return chosen, nil, fmt.Errorf("backup %s needs the passphrase from before it was changed: choose a newer one with --from; `em-infra state list %s` shows them", chosen.Name, r.place.Stack)
	}
	text, err := chosen.Text()
	if err != nil {
		return chosen, nil, err
	}
	exported, err := r.state.Read(text)
	if err != nil {
		return chosen, nil, fmt.Errorf("backup %s cannot be read (%w): choose another with --from; `em-infra state list %s` shows them", chosen.Name, err, r.place.Stack)
	}
	return chosen, exported, nil
}

// presentState is the state that will be replaced.
type presentState struct {
	deployment apitype.DeploymentV3 // empty if there is no state, or if it cannot be read
	text       []byte               // of the deployment
	isMissing  bool
	isDamaged  bool
}

// present reads the state that will be replaced.
func (r restoration) present(ctx context.Context) (presentState, error) {
	text, err := r.state.ExportSealed(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return presentState{isMissing: true}, refused(r.mayCreate(ctx))
	}
	if err == nil {
		var present *engine.Exported
		if present, err = r.state.Read(text); err == nil {
			return presentState{deployment: present.Deployment, text: text}, nil
		}
	}
	if ctx.Err() != nil {
		return presentState{}, context.Cause(ctx)
	}
	if newer := new(engine.FormatError); errors.As(err, &newer) {
		return presentState{}, refused(newer) // it is sound, so nothing may take its place unseen
	}
	r.emit(StateDamaged{Reason: lastLine(err.Error())})
	return presentState{isDamaged: true}, nil
}

// lastLine returns the last line of a CLI's output, which contains the error.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// noteBegun determines the outcome of the operations that are pending in the backup. The engine would drop them from the state; the
// next up identifies them by what is noted here. If the stack has no state yet, create makes it.
func (s *session) noteBegun(ctx context.Context, tools *toolchain.Installed, restored *engine.Exported, create func() error) error {
	if len(restored.Deployment.PendingOperations) == 0 {
		return nil
	}
	config, read := s.state.Config()
	if !read { // the CLI reads it, for which the stack needs a state
		var err error
		if config, err = s.configOfCLI(ctx, tools, create); err != nil {
			return err
		}
	}
	var err error
	if s.host, err = s.connection(ctx, config); err != nil {
		return refused(s.place.CompleteError(err))
	}
	evidence, err := s.recovery.Evidence()
	if err != nil {
		return err
	}
	unfinished, err := recovery.LookAtUnfinished(ctx, &restored.Deployment, evidence)
	if err != nil {
		return s.place.CompleteError(err)
	}
	done, _ := unfinished.Note(&restored.Deployment, s.clock.Now())
	s.recovered(done...)
	return nil
}

// configOfCLI returns the configuration as the CLI reads it, after create has made the state.
func (s *session) configOfCLI(ctx context.Context, tools *toolchain.Installed, create func() error) (auto.ConfigMap, error) {
	if err := create(); err != nil {
		return nil, err
	}
	if err := s.selectStack(ctx, tools, false); err != nil {
		return nil, err
	}
	return s.engine.config(ctx)
}
