package proxmox

import (
	"context"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// bootOnce starts what is to start with the hosts, the first time that the server serves.
func (s *Server) bootOnce() error {
	var err error

	s.boots.Do(func() {
		err = s.vms.StartGuests()
		s.ha.TendAll()
	})

	return err
}

// PowerCut takes the power from all hosts and gives it back: VMs and workers are gone at once, what they left half
// done stays, and after the time of a reboot the hosts answer again and start the VMs that start with them.
func (s *Server) PowerCut() error {
	left, err := s.snapshot()
	if err != nil {
		return err
	}

	s.setDown(true)
	s.env.Tasks.Halt()
	s.vms.CutPower()

	if err := s.recover(left); err != nil {
		return err
	}

	s.env.Tasks.Beside(func(ctx context.Context) {
		// The server closing ends the wait, and then there is nothing to come up.
		if s.env.Wait(ctx, pace.HostReboot) != nil {
			return
		}

		s.env.Tasks.Resume()
		s.setDown(false)

		if err := s.vms.StartGuests(); err != nil {
			s.journal.Note("guests not started", err)
		}

		s.ha.TendAll()
	})

	return nil
}

// cutPowerLater is PowerCut for the handler of a call, which the hosts do not wait for.
func (s *Server) cutPowerLater() {
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

// Grow gives the cluster what these hosts have and it has not: nodes, cores, memory, storages and room in them, bridges,
// devices and their mappings. Nothing is taken away, since machines may stand on it: a host does not shrink when an
// inventory does. Mistakes wrap [hardware.ErrInvalid], and then nothing has changed.
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

// equip gives the services what hosts have beyond what was known of them, and then lets requests see the hosts.
func (s *Server) equip(hosts, known []Host) {
	more := hardware.Beyond(hosts, known)
	s.storages.Adopt(more)
	s.network.Adopt(more)
	s.mappings.Adopt(more)
	s.env.Nodes.Replace(hosts)
}

// follow lets the hosts grow to what is described of them by now.
func (s *Server) follow() {
	described := s.config.Described()
	if described == nil {
		return
	}

	if err := s.Grow(described); err != nil {
		s.journal.Note("hosts do not grow", err)
	}
}
