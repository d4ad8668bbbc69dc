package operator

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"

	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// hostsLayer is a stack of the kind Hosts.
type hostsLayer struct{ *hosts.Inventory }

var _ layer = hostsLayer{}

// examine implements [layer].
func (h hostsLayer) examine(ctx context.Context, host pve.Connection) (preflight.Report, error) {
	return preflight.Hosts(ctx, preflight.HostsSubject{Inventory: h.Inventory, Host: host})
}

// findByHand implements [layer]: pools are made by Commands, which no refresh reads.
func (h hostsLayer) findByHand(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) outOfBand {
	var seen outOfBand
	for _, pool := range h.File.Pools {
		if err := seen.askForPool(ctx, host, deployment, pool.Name); err != nil {
			seen.Unread = append(seen.Unread, fmt.Sprintf("the pool %s: %v", pool.Name, err))
		}
	}
	return seen
}
