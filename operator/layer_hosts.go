package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/stacks"
)

// hostsLayer is a stack of the kind Hosts.
type hostsLayer struct{ *hosts.Inventory }

var _ layer = hostsLayer{}

// examine implements [layer].
func (h hostsLayer) examine(ctx context.Context, host pve.Connection, allowed []string) (preflight.Report, error) {
	return preflight.Hosts(ctx, preflight.HostsSubject{
		Inventory: h.Inventory, Networks: stacks.HostNetworks(h.Inventory), Allowed: allowed, Host: host,
	})
}

// findByHand implements [layer]: pools and networks are made by Commands, which no refresh reads.
func (h hostsLayer) findByHand(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) outOfBand {
	var seen outOfBand
	for _, pool := range h.File.Pools {
		if err := seen.askForPool(ctx, host, deployment, pool.Name); err != nil {
			seen.Unread = append(seen.Unread, fmt.Sprintf("the pool %s: %v", pool.Name, err))
		}
	}
	for _, wanted := range stacks.HostNetworks(h.Inventory) {
		if err := seen.askForNetwork(ctx, pve.NetworkRun{Connection: host, Wanted: wanted}, deployment, stacks.HostNetworkName(h.Inventory, wanted.Node)); err != nil {
			seen.Unread = append(seen.Unread, err.Error())
		}
	}
	return seen
}

// askForNetwork compares the network of a host with what its Command has made. A change of the inventory that is not applied yet shows as a
// change of the Command itself.
func (l *outOfBand) askForNetwork(ctx context.Context, run pve.NetworkRun, deployment apitype.DeploymentV3, name string) error {
	commands := slices.Collect(state.Current(deployment, token.Command))
	at := slices.IndexFunc(commands, func(r *apitype.ResourceV3) bool { return r.URN.Name() == name })
	if at < 0 {
		return nil
	}
	differences, err := run.Differences(ctx)
	if err != nil || len(differences) == 0 {
		return err
	}
	l.ByHand = append(l.ByHand, byHand{urn: commands[at].URN, have: drift.Undone()})
	l.Differences = append(l.Differences, drift.Difference{
		Subject: "network of " + run.Wanted.Node, Property: "interfaces", Want: "as in the inventory", Have: strings.Join(differences, "; "),
	})
	return nil
}
