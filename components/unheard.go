package components

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// unheard are the reboots that no guest hears of: the provider starts a machine that is off, and for its other hardware reboots
// it a second later, while it is still in its firmware. Proxmox VE presses the power button once and waits (decision 30).
type unheard struct {
	awaitsShutdown func(ctx context.Context, vmid int) (bool, error) // nil when the host cannot be asked
	watches        *watches
}

// watches are what ends a watch, by the name of its node.
type watches struct {
	mu   sync.Mutex
	ends map[string]context.CancelFunc
}

func newUnheard(a TalosClusterArgs) unheard {
	return unheard{awaitsShutdown: a.AwaitsShutdown, watches: &watches{ends: map[string]context.CancelFunc{}}}
}

// end ends the watch over a node, if there is one.
func (u unheard) end(node rolling.Node) {
	u.watches.mu.Lock()
	defer u.watches.mu.Unlock()
	if cancel, watched := u.watches.ends[node.Name]; watched {
		cancel()
		delete(u.watches.ends, node.Name)
	}
}

const (
	// unheardInterval is between two looks at a machine.
	unheardInterval = 2 * time.Second
	// controlPlanePatience is what control planes that are off may take until one of them is switched on.
	controlPlanePatience = 10 * time.Minute
)

// tellAgain has a machine shut down by its own Talos once that answers while Proxmox VE still waits for the power button to be
// heard. Proxmox VE takes that for what it waits for, and starts the machine again.
func (r *rollout) tellAgain(node rolling.Node, vmid int) {
	health, err := r.health()
	if err != nil || r.unheard.awaitsShutdown == nil {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx.Context())
	r.unheard.watches.mu.Lock()
	r.unheard.watches.ends[node.Name] = cancel
	r.unheard.watches.mu.Unlock()
	go func() {
		defer cancel()
		for sleep(ctx, unheardInterval) {
			if !nodeops.IsAlive(ctx, health.Talosconfig, node.Address.String()) {
				continue
			}
			waits, err := r.unheard.awaitsShutdown(ctx, vmid)
			if err != nil || !waits {
				continue // who cannot be asked now is asked again, for as long as the update goes on
			}
			if health.Shutdown(ctx, node) == nil {
				health.Say("%s did not hear its power button while it booted: its Talos is told to reboot", node.Name)
				return
			}
		}
	}()
}

// awaitControlPlane has a worker that is off wait for its turn until a control plane is on: without one it has no certificate,
// so its Talos never answers, and the control planes would wait for it in turn.
func (r *rollout) awaitControlPlane(ctx context.Context, node rolling.Node) error {
	if node.ControlPlane {
		return nil
	}
	health, err := r.health()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, controlPlanePatience)
	defer cancel()
	for health.ControlPlanesAreOff(bounded) && sleep(bounded, unheardInterval) {
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	return nil
}

// sleep is false when ctx ends before the time is over.
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
