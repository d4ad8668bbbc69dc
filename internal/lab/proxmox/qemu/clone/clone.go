// Package clone clones VMs (qemu-server API2/Qemu.pm, clone_vm). It is stateless. A clone holds the lock file of its source's
// configuration, shared with other clones if the source is off, and then the lock file of its own.
package clone

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// cloning is a request to clone a VM.
type cloning struct {
	call    *api.Call
	newID   int
	target  string
	storage string
	format  string
	pool    string
	running bool
}

// clonePlan is the result of the checks: the new configuration without its disks, and the disks to copy.
type clonePlan struct {
	conf   *vmconfig.Config
	drives []*vmconfig.Drive
	full   bool
}

// cloneVM handles POST /nodes/{node}/qemu/{vmid}/clone (API2/Qemu.pm, clone_vm).
func (s *Service) cloneVM(c *api.Call) (any, error) {
	if name := c.Params.Get("snapname"); name != "" {
		return nil, s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
			if _, err := m.Snapshot(name); err != nil {
				return err
			}

			return errors.New("cloning a snapshot is not emulated")
		})
	}

	r := &cloning{
		call: c, newID: c.Params.Int("newid", 0), target: c.Params.Get("target"), storage: c.Params.Get("storage"),
		format: c.Params.Get("format"), pool: c.Params.Get("pool"), running: s.processes.Running(c.VMID),
	}
	if r.target == c.Node || r.target == "localhost" {
		r.target = ""
	}

	if _, err := s.planClone(r); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmclone", strconv.Itoa(c.VMID), c.Identity, r.newID, func(w *task.Worker) error {
		return s.clone(w, r)
	})
}

// clone is the worker. It takes a shared lock on the source and an exclusive lock on the new VM, and copies the disks.
func (s *Service) clone(w *task.Worker, r *cloning) error {
	limit := s.env.Pace.Timeout(pace.WorkerLockTimeout)

	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepLock); err != nil {
		return err
	}

	lockSource := s.env.Locks.Shared
	if r.running {
		lockSource = s.env.Locks.Exclusive
	}

	releaseSource, err := lockSource(w.Ctx, flock.ConfigFile(r.call.VMID), limit)
	if err != nil {
		return err
	}
	defer releaseSource()

	releaseNew, err := s.env.Locks.Exclusive(w.Ctx, flock.ConfigFile(r.newID), limit)
	if err != nil {
		return err
	}
	defer releaseNew()

	plan, err := s.planClone(r)
	if err != nil {
		return err
	}

	if err := s.beginClone(r, plan); err != nil {
		return err
	}

	return s.copyDisks(w, r, plan)
}

// beginClone creates the new configuration, with nothing but its lock and a comment (API2/Qemu.pm, clone_vm).
func (s *Service) beginClone(r *cloning, plan *clonePlan) error {
	if err := s.renew(plan.conf, r.newID); err != nil {
		return err
	}

	locked := vmconfig.New()
	locked.Set("lock", "clone")
	locked.Set("description", "qmclone temporary file\n")

	err := s.configs.Create(r.call.Node, r.newID, locked)

	var taken *config.TakenError
	if errors.As(err, &taken) {
		return fmt.Errorf("unable to create VM %d: config file already exists on node '%s'", r.newID, taken.Node)
	}

	s.statistics.Begin(r.newID)

	return err
}

// renew gives a copied configuration its own identity.
func (s *Service) renew(conf *vmconfig.Config, vmid int) error {
	for _, key := range conf.NetworkKeys() {
		card, err := vmconfig.ParseCard(conf.Get(key), s.access.Fields(key))
		if err != nil {
			return fmt.Errorf("unable to parse network device '%s'", key)
		}

		if err := card.GenerateMAC(s.env.Random.Reader(fmt.Sprintf("vm %d %s", vmid, key))); err != nil {
			return err
		}

		conf.Set(key, card.String())
	}

	id, err := s.env.Random.UUID(vmid, "smbios")
	if err != nil {
		return err
	}

	smbios, err := schema.ParseProperties(s.access.Fields("smbios1"), conf.Get("smbios1"))
	if err != nil {
		return err
	}

	smbios["uuid"] = id
	conf.Set("smbios1", schema.PrintProperties(s.access.Fields("smbios1"), smbios))

	if !conf.Has("vmgenid") {
		return nil
	}

	if id, err = s.env.Random.UUID(vmid, "vmgenid"); err == nil {
		conf.Set("vmgenid", id)
	}

	return err
}

// copyDisks copies one disk after the other and writes the configuration after each. After an error it removes the copies.
func (s *Service) copyDisks(w *task.Worker, r *cloning, plan *clonePlan) error {
	copier := s.disks.Copier(disks.Copies{
		Target: disks.Target{Node: r.call.Node, VMID: r.newID, Config: plan.conf, Print: w.Print},
		Worker: w, Storage: r.storage, Format: r.format, Full: plan.full,
	})

	err := s.copyAll(&copier, r, plan)

	if err != nil {
		copier.Undo()
		s.configs.Delete(r.newID)

		return fmt.Errorf("clone failed: %w", err)
	}

	plan.conf.Delete("lock")

	return s.configs.On(r.call.Node, r.newID, func(m *config.VM) error {
		s.finishClone(w, r, plan, m)
		return nil
	})
}

func (s *Service) copyAll(copier *disks.Copier, r *cloning, plan *clonePlan) error {
	slices.SortFunc(plan.drives, func(a, b *vmconfig.Drive) int { return strings.Compare(a.Key, b.Key) })

	if len(plan.drives) > 0 {
		copier.Announce(plan.drives[0])
	}

	if err := s.env.Faults.Step(copier.Worker.Ctx, copier.Worker.Info, task.StepCopy); err != nil {
		return err
	}

	if len(plan.drives) == 0 {
		return s.env.Wait(copier.Worker.Ctx, pace.VMClone)
	}

	for i, drive := range plan.drives {
		if i > 0 {
			copier.Announce(drive)
		}

		if err := copier.Copy(drive); err != nil {
			return err
		}

		plan.conf.Set(drive.Key, drive.String())

		if err := s.publish(r, plan.conf); err != nil {
			return err
		}
	}

	return nil
}

// publish writes the current state of the configuration.
func (s *Service) publish(r *cloning, conf *vmconfig.Config) error {
	return s.configs.On(r.call.Node, r.newID, func(m *config.VM) error {
		m.Config = conf.Clone()
		s.env.Changed()

		return nil
	})
}

func (s *Service) finishClone(w *task.Worker, r *cloning, plan *clonePlan, m *config.VM) {
	m.Config = plan.conf

	if lag := s.env.Faults.Lag(w.Info, task.EffectUnlock); lag > 0 {
		m.LockUntil = s.env.Now().Add(max(s.env.Pace.Scaled(lag), time.Nanosecond))
	}

	if r.target != "" {
		m.Node = r.target
		s.env.Guests.Move(m.ID, m.Node)
	}

	s.permissions.JoinPool(r.newID, r.pool)
	s.env.Changed()
}
