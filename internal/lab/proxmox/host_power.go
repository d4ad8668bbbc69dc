package proxmox

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// bootOnce starts what is to start with the hosts, the first time that the server serves.
func (s *Server) bootOnce() error {
	var err error

	s.boots.Do(func() {
		err = s.startGuests()
		s.tendAll()
	})

	return err
}

// startGuests starts the VMs that are to start with their host, by order and ID, as the service pve-guests does with
// a task of root's (pve-manager API2/Nodes.pm, startall). Those of the HA manager are its own affair.
func (s *Server) startGuests() error {
	for _, host := range s.hosts() {
		guests := s.guestsOf(host.Name)
		if len(guests) == 0 {
			continue
		}

		_, err := s.fork(host.Name, "startall", "", access.Root, 0, func(w *worker) error {
			return s.startOneByOne(w, host.Name, guests)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// guest is a VM that starts with its host.
type guest struct{ vmid, order, delay int }

func (s *Server) guestsOf(node string) []guest {
	s.mu.Lock()
	defer s.mu.Unlock()

	// Starts are three seconds apart unless the VM says otherwise.
	const usualDelay = 3

	var guests []guest

	for _, m := range s.state.sorted() {
		_, managed := s.state.managed(m.ID)
		if managed || m.Node != node || !m.Config.Flag("onboot") || m.Config.Template() {
			continue
		}

		g := guest{vmid: m.ID, order: math.MaxInt, delay: usualDelay}
		g.read(m.Config.Get("startup"))
		guests = append(guests, g)
	}

	slices.SortStableFunc(guests, func(a, b guest) int { return cmp.Compare(a.order, b.order) })

	return guests
}

// read takes order and delay from a startup setting such as "order=2,up=30", whose order may stand without its name.
func (g *guest) read(startup string) {
	for _, part := range schema.SplitList(startup) {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "order", part
		}

		n, err := strconv.Atoi(value)

		switch {
		case err != nil:
		case name == "order":
			g.order = n
		case name == "up":
			g.delay = n
		}
	}
}

func (s *Server) startOneByOne(w *worker, node string, guests []guest) error {
	for _, g := range guests {
		w.print("Starting VM %d", g.vmid)

		upid, err := s.fork(node, "qmstart", strconv.Itoa(g.vmid), access.Root, g.vmid, func(w *worker) error {
			return s.startVM(w, g.vmid, node)
		})
		if err != nil {
			return err
		}

		if err := s.await(w.ctx, upid); err != nil {
			return err
		}

		if t, ok := s.tasks.Find(upid); ok && t.Exit != task.StatusOK {
			w.print("Starting VM %d failed: %s", g.vmid, t.Exit)
			continue
		}

		if err := s.wait(w.ctx, time.Duration(g.delay)*time.Second); err != nil {
			return err
		}
	}

	return nil
}

// PowerCut takes the power from all hosts and gives it back: VMs and workers are gone at once, what they left half
// done stays, and after the time of a reboot the hosts answer again and start the VMs that start with them.
func (s *Server) PowerCut() error {
	left, err := s.snapshot()
	if err != nil {
		return err
	}

	s.setDown(true)
	s.workers.halt()
	s.cutAll()

	if err := s.recover(left); err != nil {
		return err
	}

	s.workers.beside(func() {
		// The server closing ends the wait, and then there is nothing to come up.
		if s.wait(s.workers.ctx, pace.HostReboot) != nil {
			return
		}

		s.workers.resume()
		s.setDown(false)

		if err := s.startGuests(); err != nil {
			s.journal.note("guests not started", err)
		}

		s.tendAll()
	})

	return nil
}

// cutPowerLater is PowerCut for the handler of a call, which the hosts do not wait for.
func (s *Server) cutPowerLater() {
	s.workers.beside(func() {
		if err := s.PowerCut(); err != nil {
			s.journal.note("power not cut", err)
		}
	})
}

func (s *Server) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.down = down
	s.booted = s.config.Now()
}

func (s *Server) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.down
}

func (s *Server) cutAll() {
	s.mu.Lock()

	var powered []int

	for _, m := range s.state.sorted() {
		if m.Running {
			powered = append(powered, m.ID)
		}
	}
	s.mu.Unlock()

	for _, vmid := range powered {
		s.config.Machines.PowerOff(vmid)
	}
}

// hangUp ends a connection without an answer, as a host without power does.
func hangUp(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}

	if conn, _, err := hijacker.Hijack(); err == nil {
		conn.Close()
	}
}

// recover brings back the state that was left on the disks.
func (s *Server) recover(left []byte) error {
	file, err := s.decode(left)
	if err != nil {
		return fmt.Errorf("recover from the power cut: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	fresh, err := newState(s.config)
	if err != nil {
		return err
	}

	s.restore(file, fresh)
	s.changed()

	return nil
}
