package operator

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/stacks"
)

// clusterNAS is the TrueNAS box on which a cluster has storage.
type clusterNAS struct {
	stack     string
	inventory *inventory.Inventory
	config    func(context.Context) (auto.ConfigMap, error)
	own       *ownResources
	isSpared  bool // the run touches nothing there
}

func (s *session) nas(isSpared bool) clusterNAS {
	return clusterNAS{stack: s.workspace.Stack, inventory: s.inventory, config: s.engine.config, own: s.own, isSpared: isSpared}
}

// box returns the TrueNAS box of the inventory, in a rehearsal that of the lab; nil without `storage:`. A key that is missing is a finding
// of the preflight and no error.
func (n clusterNAS) box(ctx context.Context) (*preflight.Box, error) {
	if n.inventory.Cluster.Storage == nil {
		return nil, nil
	}
	config, err := n.config(ctx)
	if err != nil {
		return nil, err
	}
	configured := func(name string) string { return config[stacks.Key(name)].Value }
	access, err := stacks.ReadStorageAccess(ctx, n.inventory, n.stack, configured, secrets.Read)
	return &preflight.Box{
		Owner: stacks.StorageOwner(n.stack, n.inventory), IsSpared: n.isSpared, Kinds: n.own.onNAS, Err: err,
		Connection: truenas.Connection{
			Endpoint: access.Endpoint, Fingerprint: access.Fingerprint, CA: access.CA, Username: access.Username, APIKey: access.APIKey,
		},
	}, nil
}

// whyAway returns why the NAS refuses the login or does not answer, as a clause; empty if it does neither, or if the stack has nothing there.
// The engine does not read what is on such a NAS (docs/decisions/0096).
func (n clusterNAS) whyAway(ctx context.Context) (string, error) {
	if len(n.own.onNAS) == 0 {
		return "", nil
	}
	box, err := n.box(ctx)
	if err != nil || box == nil {
		return "", err
	}
	away := box.Err
	if away == nil {
		away = preflight.Reach(ctx, *box)
	}
	if away == nil {
		return "", nil
	}
	return fmt.Sprintf("what is on TrueNAS: %v", away), nil
}
