package recovery

import "github.com/em-infra/em-infra/internal/pve"

import "context"

// glance is a host that is not waited for, and not changed.
type glance struct{ Host }

// AtAGlance is a host of which a survey sees what is there now. A machine with a lock is in the hands of a task, and is not
// seen.
func AtAGlance(host Host) Host { return glance{host} }

// Settle implements [Host].
func (g glance) Settle(ctx context.Context, node string, vmid int) (*pve.Machine, error) {
	machine, err := g.Look(ctx, vmid)
	if err != nil || machine == nil || machine.Node != node || machine.Lock != "" {
		return nil, err
	}
	return machine, nil
}
