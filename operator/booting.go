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
	// bootLimit is how long to wait for a machine that boots into maintenance mode: a minute, three on a slow host.
	bootLimit    = 3 * time.Minute
	bootInterval = 2 * time.Second
)

// waitsForConfiguration reports whether the Talos of a machine is in maintenance mode. One that runs, was never a member and does
// not answer is waited for: somebody may have reset it a moment ago, and a run that went on would not configure it.
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
	}) // it ends early with ctx, which the caller checks
	return waits
}

// isOn reports whether the machine of a node runs; false where that cannot be seen.
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
