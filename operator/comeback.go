package operator

import (
	"context"
	"errors"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
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
