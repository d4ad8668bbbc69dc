package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// statePreparation writes into the state of a platform what the engine does not detect itself, before the engine runs.
type statePreparation struct {
	engine   *stackEngine
	own      *ownResources
	restorer *restorer
}

// PrepareState implements [upState].
func (p statePreparation) PrepareState(ctx context.Context, seen outOfBand, judged judgement) error {
	if err := p.own.renameNodes(ctx); err != nil {
		return err
	}
	if err := seen.note(ctx, p.engine.state); err != nil {
		return err
	}
	return p.configureAgain(ctx, judged)
}

// configureAgain changes the state so that the engine configures the unconfigured machines again, and removes from it what was lost
// with a cluster's etcd. It does not change the host, and runs after the consent.
func (p statePreparation) configureAgain(ctx context.Context, judged judgement) error {
	p.allowReplace(slices.Concat(judged.Lost, p.restorer.restoring()))
	if len(judged.Unconfigured)+len(judged.Lost) == 0 {
		return nil
	}
	exported, err := p.engine.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if state.Unbootstrapped(exported.Deployment) != nil {
		p.allowReplace(slices.Concat(judged.Lost, p.restorer.restoring(), namesOf(judged.Unconfigured))) // there was no etcd yet that could be lost
	}
	for _, machine := range judged.Unconfigured {
		if err := recovery.Unapply(&exported.Deployment, machine); err != nil {
			return err
		}
		p.engine.recovered(machine.Name + " is in maintenance mode: it is configured and joined again")
	}
	if len(judged.Lost) > 0 {
		forgotten := recovery.LoseCluster(&exported.Deployment)
		p.engine.recovered(fmt.Sprintf("the data of etcd is lost: %d things that were in the cluster are forgotten and made again", forgotten))
	}
	return p.engine.state.Import(ctx, exported)
}

// allowReplace sets the control planes that the program may replace although the cluster is lost. A preview allows all of them,
// because the assessment of the preview explains the loss in more detail than the program's refusal.
func (p statePreparation) allowReplace(names []string) {
	p.engine.program.AllowReplace = names
	p.engine.setProgram(p.engine.program.Until)
}
