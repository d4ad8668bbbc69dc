package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/stacks"
)

// askForRoots compares the roots of containers with what their Commands have made. A container that was deleted by hand is created anew with a
// small root, so its Command has to run again; the same holds if a run was killed between the two.
func (l *outOfBand) askForRoots(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3, inv *systems.Inventory) error {
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	for _, container := range inv.File.Containers {
		var config pve.GuestConfig
		at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == container.VMID && g.Type == pve.TypeContainer })
		if at >= 0 {
			if config, err = reader.GuestConfig(ctx, guests[at]); err != nil {
				return err
			}
		}
		for command := range state.Current(deployment, token.Command) {
			if command.URN.Name() == stacks.RootName(inv, container) {
				l.noteRoot(command, container.Name, at >= 0, config)
			}
		}
	}
	return nil
}

func (l *outOfBand) noteRoot(command *apitype.ResourceV3, container string, exists bool, config pve.GuestConfig) {
	have, difference, err := drift.Root(command.Inputs, exists, config)
	if err != nil {
		l.Unread = append(l.Unread, fmt.Sprintf("the root of %s: %v", container, err))
	}
	if have == nil {
		return
	}
	l.ByHand = append(l.ByHand, byHand{urn: command.URN, have: have, described: true})
	if difference.Property != "" {
		difference.Subject = container
		l.Differences = append(l.Differences, difference)
	}
}
