package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// unconfigured are the machines that wait for a configuration although the state says that they have theirs: they were
// reset, or made anew by hand. Nothing that a provider reads shows that, so the engine does not see it.
func (s *session) unconfigured(ctx context.Context) ([]recovery.Configured, error) {
	if !s.refresh {
		return nil, nil
	}
	exported, err := s.state.Last(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return nil, nil
	}
	if err != nil {
		return nil, s.state.Unreadable(err)
	}
	machines := recovery.ConfiguredMachines(&exported.Deployment)
	waits := make([]bool, len(machines))
	var asked sync.WaitGroup
	for i, machine := range machines {
		asked.Go(func() { waits[i] = s.waitsForConfiguration(ctx, machine) })
	}
	asked.Wait()
	var found []recovery.Configured
	for i, machine := range machines {
		if waits[i] {
			found = append(found, machine)
		}
	}
	return found, ctx.Err()
}

// namesOf are the names of machines.
func namesOf(machines []recovery.Configured) []string {
	names := make([]string, len(machines))
	for i, machine := range machines {
		names[i] = machine.Name
	}
	return names
}

// configureAgain has the run configure again what has lost its configuration, and forgets what was lost with a cluster's etcd. It
// does nothing to the host, and comes after the consent.
func (s *session) configureAgain(ctx context.Context, judged judgement) error {
	s.allowReplace(judged.Lost)
	if len(judged.unconfigured)+len(judged.Lost) == 0 {
		return nil
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if recovery.Unbootstrapped(&exported.Deployment) != nil {
		s.allowReplace(slices.Concat(judged.Lost, namesOf(judged.unconfigured))) // there was no etcd yet that could be lost
	}
	for _, machine := range judged.unconfigured {
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

// allowReplace tells the program which control planes may be made anew although the cluster is lost. In a preview all of
// them may: what it shows is judged here, in more words than the program's own refusal has.
func (s *session) allowReplace(names []string) {
	s.program.AllowReplace = names
	s.setProgram(s.program.Until)
}

// controlPlaneNames are those of the inventory; none where a command is about the state alone and has read no inventory.
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
