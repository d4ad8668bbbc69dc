package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// possessions identify what a stack has on the host, so that it can be found there after the destroy.
type possessions struct {
	sources status.Sources
	owners  []ownership.Owner
	// systems are those of a stack that has some; it has no owners.
	systems []status.System
}

// Possessions reads from the state what the stack has on the host. A state that was destroyed before no longer contains the cluster's
// identity, so the owners are then read from its backups.
func (d destroyTarget) Possessions(ctx context.Context) (p possessions, err error) {
	if d.inventory == nil && len(d.systems) == 0 {
		return p, nil // everything that a stack of hosts makes is in its state
	}
	host, err := pve.NewReader(d.host)
	if err != nil {
		return p, refused(err)
	}
	if d.inventory == nil {
		return possessions{sources: status.Sources{Host: host}, systems: d.systems}, nil
	}
	exported, err := d.state.Seen(ctx)
	if err != nil {
		return p, err
	}
	owner, err := state.OwnerOf(d.stack, exported.Deployment)
	if err != nil {
		return p, err
	}
	if p.owners = []ownership.Owner{owner}; owner.Cluster == "" {
		past, err := d.state.Past()
		if err != nil {
			return p, err
		}
		p.owners = recovery.PastOwners(d.stack, past)
	}
	p.sources = status.Sources{Inventory: d.inventory, Host: host, Deployment: exported.Deployment}
	return p, nil
}

// LeftOf implements [destroyHost].
func (d destroyTarget) LeftOf(ctx context.Context, had possessions) (status.Left, error) {
	if len(had.systems) > 0 {
		return had.sources.LeftSystems(ctx, d.stack, had.systems)
	}
	if had.sources.Inventory == nil {
		return status.Left{}, nil
	}
	return had.sources.Left(ctx, had.owners)
}
