package ha

import (
	"context"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/pace"
)

// The HA manager brings VMs to the requested state, one round after a change (pve-ha-manager HA/CRM.pm, HA/LRM.pm,
// HA/Manager.pm). It acts through tasks of root. It moves a VM only on request: a failed start is repeated on the same node,
// as in a cluster of one.

// Tend makes the manager check a VM that has changed, if it manages the VM.
func (s *Service) Tend(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.tend(vmid)
}

// tend is Tend for a caller that holds the lock.
func (s *Service) tend(vmid int) {
	r, ok := s.resources[vmid]
	if !ok || r.tended {
		return
	}

	r.tended = s.env.Tasks.Spawn(func(ctx context.Context) { s.keep(ctx, vmid, r) })
}

// TendAll makes the manager check all VMs after a boot of the hosts.
func (s *Service) TendAll() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, vmid := range slices.Sorted(maps.Keys(s.resources)) {
		s.tend(vmid)
	}
}

// keep repeats rounds until the VM is in the requested state.
func (s *Service) keep(ctx context.Context, vmid int, r *resource) {
	for {
		if s.env.Wait(ctx, pace.HARound) != nil {
			s.mu.Lock()
			defer s.mu.Unlock()

			r.tended = false

			return
		}

		step := s.nextStep(vmid, r)
		if step == nil {
			return
		}

		step(ctx)
		s.env.Changed()
	}
}

// nextStep returns what to do about a VM. If nothing is left to do, it releases the VM under the same lock.
func (s *Service) nextStep(vmid int, r *resource) func(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r.tended = false

	node, running, ok := s.vms.Find(vmid)
	if !ok || s.resources[vmid] != r {
		return nil
	}

	step := s.decide(vm{vmid, node, running}, r)
	r.tended = step != nil

	s.env.Changed()

	return step
}

// vm is the current state of a VM.
type vm struct {
	id      int
	node    string
	running bool
}

func (s *Service) decide(m vm, r *resource) func(context.Context) {
	limit := int(pace.HAStopTimeout.Seconds())
	if r.Stop != nil {
		limit, r.Stop, r.Values["state"] = *r.Stop, nil, stateStopped
	}

	target := r.Target
	r.Target = ""

	switch wanted := r.wanted(); {
	case wanted == stateIgnored, r.Service == stateError && wanted != stateDisabled:
		return nil
	case target != "" && target != m.node:
		r.Service = "migrate"
		return s.move(m, target)
	case wanted == stateStarted && !m.running:
		r.Service = stateStarted
		return s.start(m, r)
	case wanted == stateStarted:
		r.Service, r.Failures = stateStarted, 0
	case m.running:
		r.Service = "request_stop"
		return s.stop(m, r, limit)
	default:
		r.Service, r.Failures = stateStopped, 0
	}

	return nil
}

// start starts a VM. It gives up after the number of attempts in the settings; relocations to other nodes count as attempts
// on this node.
func (s *Service) start(m vm, r *resource) func(context.Context) {
	return func(ctx context.Context) {
		if s.vms.Start(ctx, m.node, m.id) != nil {
			return
		}

		s.mu.Lock()
		defer s.mu.Unlock()

		if _, running, ok := s.vms.Find(m.id); ok && running {
			return
		}

		r.Failures++
		if r.Failures >= (1+r.limit("max_restart"))*(1+r.limit("max_relocate")) {
			r.Service, r.Failures = stateError, 0
		}
	}
}

// stop stops a VM, at once if no time is left (HA/Resources/PVEVM.pm, shutdown).
func (s *Service) stop(m vm, r *resource, seconds int) func(context.Context) {
	halt := func(ctx context.Context) error { return s.vms.Stop(ctx, m.node, m.id) }
	if seconds > 0 {
		halt = func(ctx context.Context) error { return s.vms.Shutdown(ctx, m.node, m.id, seconds) }
	}

	return func(ctx context.Context) {
		if halt(ctx) != nil {
			return
		}

		s.mu.Lock()
		defer s.mu.Unlock()

		if _, running, ok := s.vms.Find(m.id); ok && running {
			r.Service = stateError
		}
	}
}

// move migrates a VM with its local disks (HA/Resources/PVEVM.pm, migrate).
func (s *Service) move(m vm, target string) func(context.Context) {
	return func(ctx context.Context) {
		// The next round checks the VM on its node, whether it was moved or not.
		_ = s.vms.Migrate(ctx, m.node, m.id, target)
	}
}
