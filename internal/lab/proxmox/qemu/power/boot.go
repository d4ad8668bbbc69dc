package power

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// StartGuests starts the VMs that start with their host, by order and ID, as the service pve-guests does with a task of root
// (pve-manager API2/Nodes.pm, startall). The HA manager starts its own VMs.
func (s *Service) StartGuests() error {
	for _, host := range s.env.Nodes.Hosts() {
		guests := s.guestsOf(host.Name)
		if len(guests) == 0 {
			continue
		}

		_, err := s.env.Tasks.Fork(host.Name, "startall", "", access.Root, 0, func(w *task.Worker) error {
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

// guestsOf returns the VMs that start with a node, in the order of their start.
func (s *Service) guestsOf(node string) []guest {
	guests := slices.DeleteFunc(s.onBoot(node), func(g guest) bool { return s.ha.Managed(g.vmid) })
	slices.SortStableFunc(guests, func(a, b guest) int { return cmp.Compare(a.order, b.order) })

	return guests
}

// onBoot returns the VMs of a node that start with it, sorted by ID.
func (s *Service) onBoot(node string) []guest {
	// The default delay between starts is three seconds.
	const usualDelay = 3

	var guests []guest

	s.configs.Each(func(m *config.VM) {
		if m.Node != node || !m.Config.Flag("onboot") || m.Config.Template() {
			return
		}

		g := guest{vmid: m.ID, order: math.MaxInt, delay: usualDelay}
		g.read(m.Config.Get("startup"))
		guests = append(guests, g)
	})

	return guests
}

// read parses order and delay of a startup setting such as "order=2,up=30". The name of the order is optional.
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

func (s *Service) startOneByOne(w *task.Worker, node string, guests []guest) error {
	for _, g := range guests {
		w.Print("Starting VM %d", g.vmid)

		upid, err := s.env.Tasks.Fork(node, "qmstart", strconv.Itoa(g.vmid), access.Root, g.vmid, func(w *task.Worker) error {
			return s.StartVM(w, g.vmid, node)
		})
		if err != nil {
			return err
		}

		if err := s.env.Tasks.Await(w.Ctx, upid); err != nil {
			return err
		}

		if t, ok := s.env.Tasks.List().Find(upid); ok && t.Exit != task.StatusOK {
			w.Print("Starting VM %d failed: %s", g.vmid, t.Exit)
			continue
		}

		if err := s.env.Wait(w.Ctx, time.Duration(g.delay)*time.Second); err != nil {
			return err
		}
	}

	return nil
}

// CutPower cuts the power of all machines. Their configurations stay.
func (s *Service) CutPower() {
	for _, vmid := range s.processes.EndAll() {
		s.machines.PowerOff(vmid)
	}
}
