package lxc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// checkPower returns an error unless the container exists and is on or off as the request needs it.
func (s *Service) checkPower(c *api.Call, on bool, problem string) error {
	return s.on(c.Node, c.VMID, func(*container) error {
		if s.isRunning(c.VMID) != on {
			return fmt.Errorf(problem, c.VMID)
		}

		return nil
	})
}

// rootOnly returns an error for an option that only root may use.
func rootOnly(c *api.Call) error {
	if c.Params.Bool("skiplock", false) && c.Identity != access.Root {
		return schema.BadParam("skiplock", "Only root may use this option.")
	}

	return nil
}

// startTask handles POST …/status/start (pve-container API2/LXC/Status.pm, vm_start).
func (s *Service) startTask(c *api.Call) (any, error) {
	if err := errors.Join(rootOnly(c), s.checkPower(c, false, "CT %d already running")); err != nil {
		return nil, err
	}

	return s.fork(c, "vzstart", func(w *task.Worker) error { return s.start(w, c.Node, c.VMID) })
}

// fork starts a worker for a container.
func (s *Service) fork(c *api.Call, kind string, work func(*task.Worker) error) (string, error) {
	return s.env.Tasks.Fork(c.Node, kind, strconv.Itoa(c.VMID), c.Identity, c.VMID, work)
}

// start starts a container under its configuration's lock. Pending changes take effect before.
func (s *Service) start(w *task.Worker, node string, vmid int) error {
	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepLock); err != nil {
		return err
	}

	return s.withLock(w.Ctx, vmid, lockLimit, func() error { return s.boot(w, node, vmid) })
}

func (s *Service) boot(w *task.Worker, node string, vmid int) error {
	if err := s.on(node, vmid, s.checkStart); err != nil {
		return err
	}

	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepStart); err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, pace.ContainerStart); err != nil {
		return err
	}

	return s.on(node, vmid, func(*container) error {
		s.running[vmid] = process{pid: s.env.Tasks.List().NextPID(), since: s.env.Now()}
		s.env.Changed()

		return nil
	})
}

// checkStart checks whether a container can start, and applies what is pending.
func (s *Service) checkStart(ct *container) error {
	if ct.Config.Template() {
		return errors.New("you can't start a CT if it's a template")
	}

	if err := ct.checkLock(); err != nil {
		return err
	}

	if s.isRunning(ct.ID) {
		return fmt.Errorf("CT %d already running", ct.ID)
	}

	s.takeEffect(ct)

	for _, key := range ct.Config.NetworkKeys() {
		card, err := vmconfig.ParseCard(ct.Config.Get(key), s.fields(key))
		if err != nil {
			return fmt.Errorf("unable to parse network device '%s'", key)
		}

		if bridge := card.Bridge(); bridge != "" && !s.parts.Network.IsBridge(ct.Node, bridge) {
			return fmt.Errorf("bridge '%s' does not exist", bridge)
		}
	}

	return nil
}

// stopTask handles POST …/status/stop.
func (s *Service) stopTask(c *api.Call) (any, error) {
	if err := errors.Join(rootOnly(c), s.checkPower(c, true, "CT %d not running")); err != nil {
		return nil, err
	}

	return s.fork(c, "vzstop", func(w *task.Worker) error {
		return s.withLock(w.Ctx, c.VMID, lockLimit, func() error { return s.halt(w, c, 0) })
	})
}

// shutdownTask handles POST …/status/shutdown. The init of a container in the lab always ends.
func (s *Service) shutdownTask(c *api.Call) (any, error) {
	if err := s.checkPower(c, true, "CT %d not running"); err != nil {
		return nil, err
	}

	return s.fork(c, "vzshutdown", func(w *task.Worker) error {
		return s.withLock(w.Ctx, c.VMID, lockLimit, func() error { return s.halt(w, c, pace.ContainerShutdown) })
	})
}

// rebootTask handles POST …/status/reboot: the container is shut down and started under one lock (LXC.pm, vm_reboot).
func (s *Service) rebootTask(c *api.Call) (any, error) {
	if err := s.checkPower(c, true, "VM %d not running"); err != nil {
		return nil, err
	}

	return s.fork(c, "vzreboot", func(w *task.Worker) error {
		return s.withLock(w.Ctx, c.VMID, lockLimit, func() error {
			if err := s.halt(w, c, pace.ContainerShutdown); err != nil {
				return err
			}

			return s.boot(w, c.Node, c.VMID)
		})
	})
}

// halt ends a container after the time that its services take.
func (s *Service) halt(w *task.Worker, c *api.Call, takes time.Duration) error {
	if err := s.on(c.Node, c.VMID, (*container).checkLock); err != nil {
		return err
	}

	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepShutdown); err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, takes); err != nil {
		return err
	}

	return s.on(c.Node, c.VMID, func(*container) error {
		delete(s.running, c.VMID)
		s.env.Changed()

		return nil
	})
}

// CutPower ends all containers, as a power cut of the hosts does.
func (s *Service) CutPower() {
	s.mu.Lock()
	defer s.mu.Unlock()

	clear(s.running)
}

// StartGuests starts the containers that start with their host, one after the other by order and ID. On a real host VMs and
// containers are in one order (pve-manager API2/Nodes.pm, startall); here the two start side by side.
func (s *Service) StartGuests() error {
	byNode := map[string][]guest{}

	s.each(func(ct *container) {
		if ct.Config.Flag("onboot") && !ct.Config.Template() {
			byNode[ct.Node] = append(byNode[ct.Node], newGuest(ct))
		}
	})

	var errs []error

	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		guests := byNode[node]
		slices.SortStableFunc(guests, func(a, b guest) int { return cmp.Compare(a.order, b.order) })

		_, err := s.env.Tasks.Fork(node, "startall", "", access.Root, 0, func(w *task.Worker) error {
			return s.startOneByOne(w, node, guests)
		})
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// guest is a container that starts with its host.
type guest struct {
	vmid, order int
	delay       time.Duration
}

// newGuest reads order and delay of a startup setting such as "order=2,up=30".
func newGuest(ct *container) guest {
	g := guest{vmid: ct.ID, order: math.MaxInt, delay: 3 * time.Second}

	for _, part := range schema.SplitList(ct.Config.Get("startup")) {
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
			g.delay = time.Duration(n) * time.Second
		}
	}

	return g
}

func (s *Service) startOneByOne(w *task.Worker, node string, guests []guest) error {
	for _, g := range guests {
		w.Print("Starting CT %d", g.vmid)

		upid, err := s.fork(&api.Call{Node: node, VMID: g.vmid, Identity: access.Root}, "vzstart", func(w *task.Worker) error {
			return s.start(w, node, g.vmid)
		})
		if err != nil {
			return err
		}

		if err := s.env.Tasks.Await(w.Ctx, upid); err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, g.delay); err != nil {
			return err
		}
	}

	return nil
}
