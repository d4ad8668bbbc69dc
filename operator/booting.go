package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

const (
	// bootLimit is the limit for the boot of a machine into maintenance mode. It takes one minute, and three on a slow host.
	bootLimit    = 3 * time.Minute
	bootInterval = 2 * time.Second
)

// waitsForConfiguration reports whether the Talos of a machine is in maintenance mode. If a machine that was never a member runs but
// does not answer, it waits: the machine may have been reset a moment ago and still be booting, and the run would not configure it.
func (s *session) waitsForConfiguration(ctx context.Context, machine recovery.Configured) (waits bool) {
	deadline := s.clock.Now().Add(bootLimit)
	reported := false
	_ = poll.Until(ctx, bootInterval, func(ctx context.Context) (done bool, err error) {
		if machine.Joined || nodeops.Listens(ctx, machine.Address) {
			waits = nodeops.InMaintenance(ctx, machine.Address)
			return true, nil
		}
		if !s.clock.Now().Before(deadline) || !s.isOn(ctx, machine.Name) {
			return true, nil
		}
		if !reported {
			reported = true
			s.emit(Progress{Part: phase.Bootstrap.String(), What: fmt.Sprintf("waits for %s to boot, %.0f min at most", machine.Name, bootLimit.Minutes())})
		}
		return false, nil
	}) // ends early with ctx, which the caller checks
	return waits
}

// isOn reports whether the machine of a node runs. It returns false if the host cannot be read.
func (s *session) isOn(ctx context.Context, name string) bool {
	reader, err := pve.NewReader(s.host)
	if err != nil || s.inventory == nil {
		return false
	}
	for _, node := range s.inventory.Nodes {
		if node.Name == name {
			on, err := reader.IsRunning(ctx, node.VMID)
			return err == nil && on
		}
	}
	return false
}
