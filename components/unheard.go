package components

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// unheard handles reboots that the guest misses: the provider starts a machine that is off, and a second later reboots it for
// its other hardware, while it is still in its firmware. Proxmox VE presses the power button once and waits (decision 30).
type unheard struct {
	awaitsShutdown func(ctx context.Context, vmid int) (bool, error) // nil when the host cannot be asked
	watches        *watches
}

// watches are the functions that end a watch, by the name of its node.
type watches struct {
	mu   sync.Mutex
	ends map[string]context.CancelFunc
}

func newUnheard(a TalosClusterArgs) unheard {
	return unheard{awaitsShutdown: a.AwaitsShutdown, watches: &watches{ends: map[string]context.CancelFunc{}}}
}

// end ends the watch of a node, if there is one.
func (u unheard) end(node rolling.Node) {
	u.watches.mu.Lock()
	defer u.watches.mu.Unlock()
	if cancel, watched := u.watches.ends[node.Name]; watched {
		cancel()
		delete(u.watches.ends, node.Name)
	}
}

const (
	// unheardInterval is the time between two checks of a machine.
	unheardInterval = 2 * time.Second
	// controlPlanePatience is how long to wait until one of the control planes that are off is switched on.
	controlPlanePatience = 10 * time.Minute
)

// tellAgain asks Talos to shut the machine down, as soon as Talos answers and Proxmox VE still waits for the shutdown. Proxmox
// VE then sees the machine stop, and starts it again.
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

// awaitControlPlane makes the update of a worker that is off wait until a control plane is on: without one the worker gets no
// certificate, its Talos never answers, and the control planes would wait for it.
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
