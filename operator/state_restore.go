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
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovering"
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
	return s.restoration(tools).run(ctx, backupName)
}

// restoration puts a backup in the place of the present state.
type restoration struct {
	*Operator

	state    *stackstate.State
	place    remedy.Place
	recovery *recovering.Recovery
	consent  consent
	host     *pve.Connection // that the recovery asks
	// configOfCLI returns the configuration as the CLI reads it, for which there has to be a state.
	configOfCLI func(context.Context) (auto.ConfigMap, error)
}

func (s *session) restoration(tools *toolchain.Installed) restoration {
	return restoration{
		Operator: s.Operator, state: s.state, place: s.place, recovery: s.recovery, consent: s.consent, host: &s.host,
		configOfCLI: func(ctx context.Context) (auto.ConfigMap, error) {
			if err := s.selectStack(ctx, tools, false); err != nil {
				return nil, err
			}
			return s.engine.config(ctx)
		},
	}
}

// run puts a backup back, after consent; "" means the newest.
func (r restoration) run(ctx context.Context, from string) (*Restored, error) {
	chosen, restored, err := r.choose(ctx, from)
	if err != nil {
		return nil, refused(r.place.CompleteError(err))
	}
	if _, err := r.recovery.ClearLocks(ctx); err != nil {
		return nil, err
	}
	present, err := r.present(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkRotation(present, chosen, restored, from != ""); err != nil {
		return nil, refused(r.place.CompleteError(err))
	}
	planned := Restoring{Backup: chosen}
	if len(present.deployment.Resources) > 0 {
		planned.Difference = backup.Compare(present.deployment, restored.Deployment)
	}
	r.emit(planned)
	if err := r.consent.ask(ctx); err != nil {
		return nil, err
	}
	if err := r.replace(ctx, restored, present); err != nil {
		return nil, err
	}
	return &Restored{Backup: chosen, Resources: len(restored.Deployment.Resources)}, nil
}

// replace puts a state in the place of the present one, which is backed up if it can be read. A missing state is created as late as possible: up
// notices that a state is lost, but takes an empty state for that of a stack that has nothing.
func (r restoration) replace(ctx context.Context, restored *engine.Exported, present presentState) error {
	create := sync.OnceValue(func() error {
		if !present.isMissing {
			return nil
		}
		return r.state.Create(ctx)
	})
	if err := r.noteBegun(ctx, restored, create); err != nil {
		return err
	}
	if err := create(); err != nil {
		return err
	}
	if !present.isMissing && !present.isDamaged {
		if _, err := r.state.BackUp(ctx, backup.BeforeRestore); err != nil {
			return err
		}
	}
	return r.state.Import(ctx, restored)
}

// choose reads a complete backup before anything is changed.
func (r restoration) choose(ctx context.Context, name string) (backup.Backup, *engine.Exported, error) {
	chosen, err := r.findBackup(ctx, name)
	if errors.Is(err, backup.ErrNone) {
		err = fmt.Errorf("stack %s has no backup in %s: if its machines run, write the state anew with `em-infra adopt`", r.workspace.Stack, workspace.Nearby(r.backups().Dir))
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

// present reads the state that will be replaced. It counts as damaged only if its place answers and a second read fails as well: a damaged state is
// replaced without a backup and without the checks.
func (r restoration) present(ctx context.Context) (presentState, error) {
	present, err := r.read(ctx)
	if mayBeWhole(err) && ctx.Err() == nil {
		if err := r.state.CheckPlace(); err != nil {
			return presentState{}, err
		}
		present, err = r.read(ctx)
	}
	newer := new(engine.FormatError)
	switch {
	case err == nil:
		return present, nil
	case ctx.Err() != nil:
		return presentState{}, context.Cause(ctx)
	case errors.Is(err, engine.ErrNoStack):
		return presentState{isMissing: true}, refused(r.checkNotMoved(ctx))
	case errors.As(err, &newer):
		return presentState{}, refused(newer) // the state is sound, so it must not be replaced without having been read
	}
	r.emit(StateDamaged{Reason: lastLine(err.Error())})
	return presentState{isDamaged: true}, nil
}

// mayBeWhole reports whether a second read of the state may succeed.
func mayBeWhole(err error) bool {
	return err != nil && !errors.Is(err, engine.ErrNoStack) && !errors.As(err, new(*engine.FormatError))
}

func (r restoration) read(ctx context.Context) (presentState, error) {
	text, err := r.state.ExportSealed(ctx)
	if err != nil {
		return presentState{}, err
	}
	present, err := r.state.Read(text)
	if err != nil {
		return presentState{}, err
	}
	return presentState{deployment: present.Deployment, text: text}, nil
}

// lastLine returns the last line of a CLI's output, which contains the error.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// noteBegun determines the outcome of the operations that are pending in the backup. The engine would drop them from the state; the
// next up identifies them by what is noted here. If the stack has no state yet, create makes it.
func (r restoration) noteBegun(ctx context.Context, restored *engine.Exported, create func() error) error {
	if len(restored.Deployment.PendingOperations) == 0 {
		return nil
	}
	config, read := r.state.Config()
	var err error
	if !read {
		if err := create(); err != nil {
			return err
		}
		if config, err = r.configOfCLI(ctx); err != nil {
			return err
		}
	}
	if *r.host, err = r.connection(ctx, config); err != nil {
		return refused(r.place.CompleteError(err))
	}
	evidence, err := r.recovery.Evidence()
	if err != nil {
		return err
	}
	unfinished, err := recovery.LookAtUnfinished(ctx, &restored.Deployment, evidence)
	if err != nil {
		return r.place.CompleteError(err)
	}
	done, _ := unfinished.Note(&restored.Deployment, r.clock.Now())
	r.recovered(done...)
	return nil
}
