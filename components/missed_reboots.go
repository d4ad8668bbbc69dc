package components

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// missedReboots repeats reboots that the guest misses: the provider starts a machine that is off, and a second later, while it
// is still in its firmware, reboots it for its other hardware. Proxmox VE presses the power button once and waits (decision
// 30).
type missedReboots struct {
	awaitsShutdown func(ctx context.Context, vmid int) (bool, error) // nil if the host cannot be queried
	watches        *watches
}

// watches are the running watches, by the name of the node.
type watches struct {
	mu   sync.Mutex
	ends map[string]context.CancelFunc
}

func newMissedReboots(a TalosClusterArgs) missedReboots {
	return missedReboots{awaitsShutdown: a.AwaitsShutdown, watches: &watches{ends: map[string]context.CancelFunc{}}}
}

// end ends the watch of a node, if there is one.
func (m missedReboots) end(node rolling.Node) {
	m.watches.mu.Lock()
	defer m.watches.mu.Unlock()
	if cancel, watched := m.watches.ends[node.Name]; watched {
		cancel()
		delete(m.watches.ends, node.Name)
	}
}

const (
	// missedRebootInterval is the longest time between two checks of a machine.
	missedRebootInterval = 2 * time.Second
	// controlPlaneTimeout is how long to wait until one of the control planes that are off is switched on.
	controlPlaneTimeout = 10 * time.Minute
)

// repeatReboot asks Talos to shut the machine down, once Talos answers and Proxmox VE still waits for the shutdown. Proxmox VE
// then sees that the machine has stopped, and starts it again.
func (r *rollout) repeatReboot(node rolling.Node, vmid int) {
	health, err := r.health()
	if err != nil || r.missedReboots.awaitsShutdown == nil {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx.Context())
	r.missedReboots.watches.mu.Lock()
	r.missedReboots.watches.ends[node.Name] = cancel
	r.missedReboots.watches.mu.Unlock()
	go func() {
		defer cancel()
		for sleep(ctx, missedRebootInterval) {
			if !nodeops.IsAlive(ctx, health.Talosconfig, node.Address.String()) {
				continue
			}
			waits, err := r.missedReboots.awaitsShutdown(ctx, vmid)
			if err != nil || !waits {
				continue // a failed query is repeated as long as the update runs
			}
			if health.Shutdown(ctx, node) == nil {
				health.Say("%s missed the signal of its power button while it booted: Talos is asked to reboot", node.Name)
				return
			}
		}
	}()
}

// awaitControlPlane delays the update of a worker that is off until a control plane is on: without one the worker gets no
// certificate, its Talos never answers, and the control planes would wait for it.
func (r *rollout) awaitControlPlane(ctx context.Context, node rolling.Node) error {
	if node.ControlPlane {
		return nil
	}
	health, err := r.health()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, controlPlaneTimeout)
	defer cancel()
	// A timeout is no error: a worker that still has no control plane reports that itself.
	_ = poll.Until(bounded, missedRebootInterval, func(ctx context.Context) (bool, error) { return !health.ControlPlanesAreOff(ctx), nil })
	if ctx.Err() != nil {
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	return nil
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
