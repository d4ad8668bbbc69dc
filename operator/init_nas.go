package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/stacks"
)

// pools returns the names of the pools of the NAS; nil if none is named.
func (o InitOptions) pools(ctx context.Context) ([]string, error) {
	if o.Answers.NAS.Endpoint == "" {
		return nil, nil
	}
	pools, err := preflight.Pools(ctx, preflight.Box{Connection: o.nas()})
	if err != nil {
		answer := new(truenas.Error)
		if errors.As(err, &answer) && answer.Do == "" {
			err = fmt.Errorf("%w: give the user of the key the role POOL_READ in Credentials > Groups > Privileges of TrueNAS", err)
		}
		return nil, refused(fmt.Errorf("--nas: %w", err))
	}
	var names []string
	for _, pool := range pools {
		names = append(names, pool.Name)
	}
	return names, nil
}

// nas returns how the NAS is reached, as a run of the new stack will.
func (o InitOptions) nas() truenas.Connection {
	return truenas.Connection{
		Endpoint: o.Answers.NAS.Endpoint, Fingerprint: o.Answers.NAS.Fingerprint, Username: inventory.NASUser, APIKey: o.NASKey,
	}
}

// box returns the NAS for the preflight of the new stack; nil without one.
func (o InitOptions) box(inv *inventory.Inventory) *preflight.Box {
	if inv.Cluster.Storage == nil {
		return nil
	}
	connection := o.nas()
	connection.Username = inv.Cluster.Storage.Username
	return &preflight.Box{Connection: connection, Owner: stacks.StorageOwner(o.Answers.Stack, inv)}
}
