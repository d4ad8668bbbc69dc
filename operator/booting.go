package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/pve"
)

const (
	// bootLimit is the limit for the boot of a machine into maintenance mode. It takes one minute, and almost three on a slow host.
	bootLimit    = 3 * time.Minute
	bootInterval = 2 * time.Second
)

// maintenance finds the machines whose Talos is in maintenance mode, where it waits for a configuration.
type maintenance struct {
	host      pve.Connection
	inventory *inventory.Inventory // nil if the command has loaded none
	clock     Clock
	emit      func(Event)
}

// among returns the machines that are in maintenance mode. It asks them concurrently.
func (m maintenance) among(ctx context.Context, machines []state.ConfiguredMachine) (found []state.ConfiguredMachine) {
	waits := make([]bool, len(machines))
	var asked sync.WaitGroup
	for i, machine := range machines {
		asked.Go(func() { waits[i] = m.includes(ctx, machine) })
	}
	asked.Wait()
	for i, machine := range machines {
		if waits[i] {
			found = append(found, machine)
		}
	}
	return found
}

// includes reports whether the Talos of a machine is in maintenance mode. It waits for a machine that may be booting, since the run would
// not configure it otherwise. A machine that runs and does not answer may be booting if it was started a moment ago, or if it was never a
// member: it may have been reset.
func (m maintenance) includes(ctx context.Context, machine state.ConfiguredMachine) (waits bool) {
	deadline := m.clock.Now().Add(bootLimit)
	reported := false
	_ = poll.Until(ctx, bootInterval, func(ctx context.Context) (done bool, err error) {
		if nodeops.Listens(ctx, machine.Address) {
			waits = nodeops.InMaintenance(ctx, machine.Address)
			return true, nil
		}
		on, runs := m.upFor(ctx, machine.Name)
		if !runs || machine.Joined && on >= bootLimit || !m.clock.Now().Before(deadline) {
			return true, nil
		}
		if !reported {
			reported = true
			m.emit(Progress{Part: phase.Bootstrap.String(), What: fmt.Sprintf("waits for %s to boot, %.0f min at most", machine.Name, bootLimit.Minutes())})
		}
		return false, nil
	}) // ends early with ctx, which the caller checks
	return waits
}

// upFor returns how long the machine of a node has been on. runs is false if it is off or the host cannot be read.
func (m maintenance) upFor(ctx context.Context, name string) (on time.Duration, runs bool) {
	host, err := pve.NewHost(m.host)
	if err != nil || m.inventory == nil {
		return 0, false
	}
	for _, node := range m.inventory.Nodes {
		if node.Name == name {
			host, on, err := host.UpFor(ctx, node.VMID)
			return on, err == nil && host != ""
		}
	}
	return 0, false
}
