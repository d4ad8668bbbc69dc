package proxmox

import (
	"context"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// The HA manager brings VMs to the state that is asked for, a round after something changed (pve-ha-manager HA/CRM.pm,
// HA/LRM.pm, HA/Manager.pm). What it does is done by tasks of root's. It moves a VM only when told to: a start that
// failed is repeated on the same node, as on a cluster of one.

// tend has the manager look after a VM, if it is one of its own. The state's lock is held.
func (s *Server) tend(vmid int) {
	r, ok := s.state.HA[vmid]
	if !ok || r.tended {
		return
	}

	r.tended = s.workers.spawn(func(ctx context.Context) { s.keep(ctx, vmid, r) })
}

// tendAll is what the manager does when the hosts have come up.
func (s *Server) tendAll() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, vmid := range sortedNames(s.state.HA) {
		s.tend(vmid)
	}
}

// keep goes round until the VM is what it should be.
func (s *Server) keep(ctx context.Context, vmid int, r *haResource) {
	for {
		if s.wait(ctx, pace.HARound) != nil {
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
		s.changed()
	}
}

// nextStep decides what to do about a VM. When nothing is left it lets go of it, under the same lock.
func (s *Server) nextStep(vmid int, r *haResource) func(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r.tended = false

	m, ok := s.state.VMs[vmid]
	if !ok || s.state.HA[vmid] != r {
		return nil
	}

	step := s.decide(m, r)
	r.tended = step != nil

	s.changed()

	return step
}

func (s *Server) decide(m *vm, r *haResource) func(context.Context) {
	limit := int(pace.HAStopTimeout.Seconds())
	if r.Stop != nil {
		limit, r.Stop, r.Values["state"] = *r.Stop, nil, haStopped
	}

	target := r.Target
	r.Target = ""

	switch wanted := r.wanted(); {
	case wanted == haIgnored, r.Service == haError && wanted != haDisabled:
		return nil
	case target != "" && target != m.Node:
		r.Service = "migrate"
		return s.haMove(m, target)
	case wanted == haStarted && !m.Running:
		r.Service = haStarted
		return s.haStart(m, r)
	case wanted == haStarted:
		r.Service, r.Failures = haStarted, 0
	case m.Running:
		r.Service = "request_stop"
		return s.haStop(m, r, limit)
	default:
		r.Service, r.Failures = haStopped, 0
	}

	return nil
}

func haCall(m *vm, params schema.Params) *call {
	return &call{identity: access.Root, node: m.Node, vmid: m.ID, params: params}
}

// haStart starts a VM, and gives up on it after all tries that its settings allow, on this node and in place of those
// on others.
func (s *Server) haStart(m *vm, r *haResource) func(context.Context) {
	c := haCall(m, schema.Params{})

	return func(ctx context.Context) {
		if s.haRun(ctx, c, s.startHere) != nil {
			return
		}

		s.mu.Lock()
		defer s.mu.Unlock()

		if m, ok := s.state.VMs[c.vmid]; ok && m.Running {
			return
		}

		r.Failures++
		if r.Failures >= (1+r.limit("max_restart"))*(1+r.limit("max_relocate")) {
			r.Service, r.Failures = haError, 0
		}
	}
}

// haStop stops a VM, at once when there is no time for more (HA/Resources/PVEVM.pm, shutdown).
func (s *Server) haStop(m *vm, r *haResource, seconds int) func(context.Context) {
	stop, c := s.stopHere, haCall(m, schema.Params{})
	if seconds > 0 {
		stop = s.shutdownHere
		c.params = schema.Params{"timeout": schema.Scalar(strconv.Itoa(seconds)), "forceStop": schema.Scalar("1")}
	}

	return func(ctx context.Context) {
		if s.haRun(ctx, c, stop) != nil {
			return
		}

		s.mu.Lock()
		defer s.mu.Unlock()

		if m, ok := s.state.VMs[c.vmid]; ok && m.Running {
			r.Service = haError
		}
	}
}

// haMove moves a VM and what it has on local storages (HA/Resources/PVEVM.pm, migrate).
func (s *Server) haMove(m *vm, target string) func(context.Context) {
	c := haCall(m, schema.Params{
		"target": schema.Scalar(target), "online": schema.Scalar("1"), "with-local-disks": schema.Scalar("1"),
	})

	return func(ctx context.Context) {
		// Whether it moved or not, the next round looks at it where it is.
		_ = s.haRun(ctx, c, s.migrateHere)
	}
}

// haRun waits for a task; how that ended shows in what became of the VM. It fails when the host goes down.
func (s *Server) haRun(ctx context.Context, c *call, begin func(*call) (string, error)) error {
	c.ctx = ctx

	upid, err := begin(c)
	if err != nil {
		return err
	}

	return s.await(ctx, upid)
}
