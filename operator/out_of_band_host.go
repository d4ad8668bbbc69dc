package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// askHost compares what the provider does not read of the machines, and checks whether their pool exists.
func (l *outOfBand) askHost(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3, pool string) {
	if err := errors.Join(l.askForMachines(ctx, host, state.Machines(deployment)), l.askForPool(ctx, host, deployment, pool)); err != nil {
		l.Unread = append(l.Unread, fmt.Sprintf("the host, about what its provider does not read: %v", err))
	}
}

func (l *outOfBand) askForMachines(ctx context.Context, host pve.Connection, machines []state.Machine) error {
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		at := slices.IndexFunc(guests, func(guest pve.Guest) bool { return guest.VMID == machine.VMID })
		if at < 0 {
			continue // the machine is gone, which the provider detects
		}
		config, err := reader.GuestConfig(ctx, guests[at])
		if err != nil {
			return err
		}
		if have := drift.Overlooked(machine, guests[at], config); len(have) > 0 {
			l.ByHand = append(l.ByHand, byHand{urn: machine.URN, have: have})
		}
	}
	return nil
}

// askForPool checks whether the pool exists that a Command created.
func (l *outOfBand) askForPool(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3, pool string) error {
	maker, found := state.PoolMaker(deployment, pool)
	if pool == "" || !found {
		return nil
	}
	there, err := host.HasPool(ctx, pool)
	if err == nil && !there {
		l.ByHand = append(l.ByHand, byHand{urn: maker, have: drift.Undone()})
	}
	return err
}
