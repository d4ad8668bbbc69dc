package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// bootOnce starts the VMs that start with the hosts, when the server serves for the first time.
func (s *Server) bootOnce() error {
	var err error

	s.boots.Do(func() {
		err = errors.Join(s.vms.StartGuests(), s.lxc.StartGuests())
		s.ha.TendAll()
	})

	return err
}

// PowerCut cuts the power of all hosts and restores it. VMs and workers end at once; half-finished work stays. After the time
// of a reboot the hosts answer again and start their VMs.
func (s *Server) PowerCut() error {
	s.setDown(true)

	left, err := s.snapshot()
	if err != nil {
		s.setDown(false)
		return err
	}

	s.env.Tasks.Halt()
	s.vms.CutPower()
	s.lxc.CutPower()

	if err := s.recover(left); err != nil {
		return err
	}

	s.env.Tasks.Beside(func(ctx context.Context) {
		// After a close of the server there is nothing to boot.
		if s.env.Wait(ctx, pace.HostReboot) != nil {
			return
		}

		s.env.Tasks.Resume()
		s.setDown(false)

		if err := errors.Join(s.vms.StartGuests(), s.lxc.StartGuests()); err != nil {
			s.journal.Note("guests not started", err)
		}

		s.ha.TendAll()
	})

	return nil
}

// cutPowerLater cuts the power in the background, for the handler of a call, which must return first. The hosts are down
// before it returns: a request that follows the call must not start work that the end of the power then undoes.
func (s *Server) cutPowerLater() {
	s.setDown(true)
	s.env.Tasks.Beside(func(context.Context) {
		if err := s.PowerCut(); err != nil {
			s.journal.Note("power not cut", err)
		}
	})
}

func (s *Server) setDown(down bool) {
	s.nodes.Boot()
	s.down.Store(down)
}

// Grow adds what the cluster lacks of these hosts: nodes, cores, memory, storages and their space, bridges, devices and their
// mappings. Nothing is removed, because VMs may use it: a host does not shrink with the inventory. Errors wrap
// [hardware.ErrInvalid]; after an error nothing has changed.
func (s *Server) Grow(hosts []Host) error {
	s.growing.Lock()
	defer s.growing.Unlock()

	known := s.env.Nodes.Hosts()
	all := hardware.Grown(known, hosts)

	if err := hardware.Validate(all); err != nil {
		return err
	}

	s.equip(all, known)
	s.env.Changed()

	return nil
}

// SetUp changes what a person sets up at a host, as of now: the lab does not wait for a reboot. Errors wrap [hardware.ErrInvalid].
func (s *Server) SetUp(name string, change SetupChange) error {
	s.growing.Lock()
	defer s.growing.Unlock()

	hosts := slices.Clone(s.env.Nodes.Hosts())

	at := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if at < 0 {
		return fmt.Errorf("%w: there is no %q: choose one of %s", hardware.ErrInvalid, name, strings.Join(s.env.Nodes.Names(), ", "))
	}

	for _, address := range slices.Sorted(maps.Keys(change.Drivers)) {
		if _, err := hosts[at].Device(address); err != nil {
			return fmt.Errorf("%w: %s: %w", hardware.ErrInvalid, name, err)
		}
	}

	hosts[at].Setup = hosts[at].Setup.Changed(change)
	s.env.Nodes.Replace(hosts)
	s.env.Changed()

	return nil
}

// equip adds the new parts of the hosts to the services, and then shows the hosts to requests.
func (s *Server) equip(hosts, known []Host) {
	more := hardware.Beyond(hosts, known)
	s.storages.Adopt(more)
	s.network.Adopt(more)
	s.mappings.Adopt(more)
	s.env.Nodes.Replace(hosts)
}

// follow grows the hosts to their current description.
func (s *Server) follow() {
	described := s.config.Described()
	if described == nil {
		return
	}

	if err := s.Grow(described); err != nil {
		s.journal.Note("hosts do not grow", err)
	}
}
