package recovery

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
)

// glance is a host that is read without waiting and without changes.
type glance struct{ Host }

// AtAGlance returns a host that returns the present state of machines and containers without waiting. It does not return a
// machine with a lock, since a task is working on it, nor a container that is being created.
func AtAGlance(host Host) Host { return glance{host} }

// Settle implements [Host].
func (g glance) Settle(ctx context.Context, node string, vmid int) (*pve.Machine, error) {
	machine, err := g.Look(ctx, vmid)
	if err != nil || machine == nil || machine.Node != node || machine.Lock != "" {
		return nil, err
	}
	return machine, nil
}

// SettleContainer implements [Host].
func (g glance) SettleContainer(ctx context.Context, vmid int) (*pve.Machine, error) {
	container, err := g.LookContainer(ctx, vmid)
	if err != nil || container == nil || container.Lock == "create" {
		return nil, err
	}
	return container, nil
}
