package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// unconfigured returns the machines that are in maintenance mode although the state records their configuration as applied. They
// were reset or recreated by hand. No provider reads that, so the engine's refresh does not detect it.
func (c stackChanges) unconfigured(ctx context.Context) ([]state.ConfiguredMachine, error) {
	if !c.refresh {
		return nil, nil
	}
	exported, err := c.state.Last(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return nil, nil
	}
	if err != nil {
		return nil, c.state.Unreadable(err)
	}
	found := maintenance{host: *c.host, inventory: c.cluster(), clock: c.clock, emit: c.emit}.among(ctx, state.ConfiguredMachines(exported.Deployment))
	return found, ctx.Err()
}

func namesOf(machines []state.ConfiguredMachine) []string {
	names := make([]string, len(machines))
	for i, machine := range machines {
		names[i] = machine.Name
	}
	return names
}

// configureAgain changes the state so that the engine configures the unconfigured machines again, and removes from it what was lost
// with a cluster's etcd. It does not change the host, and runs after the consent.
func (s *session) configureAgain(ctx context.Context, judged judgement) error {
	s.allowReplace(slices.Concat(judged.Lost, s.restorer.restoring()))
	if len(judged.Unconfigured)+len(judged.Lost) == 0 {
		return nil
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if state.Unbootstrapped(exported.Deployment) != nil {
		s.allowReplace(slices.Concat(judged.Lost, s.restorer.restoring(), namesOf(judged.Unconfigured))) // there was no etcd yet that could be lost
	}
	for _, machine := range judged.Unconfigured {
		if err := recovery.Unapply(&exported.Deployment, machine); err != nil {
			return err
		}
		s.recovered(machine.Name + " is in maintenance mode: it is configured and joined again")
	}
	if len(judged.Lost) > 0 {
		forgotten := recovery.LoseCluster(&exported.Deployment)
		s.recovered(fmt.Sprintf("the data of etcd is lost: %d things that were in the cluster are forgotten and made again", forgotten))
	}
	return s.state.Import(ctx, exported)
}

// allowReplace sets the control planes that the program may replace although the cluster is lost. A preview allows all of them,
// because the assessment of the preview explains the loss in more detail than the program's refusal.
func (s *session) allowReplace(names []string) {
	s.engine.program.AllowReplace = names
	s.engine.setProgram(s.engine.program.Until)
}

// controlPlaneNames returns the names of the inventory's control planes, or nil if the command has loaded no inventory.
func controlPlaneNames(inv *inventory.Inventory) []string {
	if inv == nil {
		return nil
	}
	var names []string
	for _, node := range inv.Nodes.ControlPlanes() {
		names = append(names, node.Name)
	}
	return names
}
