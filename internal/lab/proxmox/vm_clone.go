package proxmox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// cloning is a request to clone a VM.
type cloning struct {
	call    *call
	newID   int
	target  string
	storage string
	format  string
	pool    string
	running bool
}

// clonePlan is what the checks find out: the new configuration without its disks, and the disks to copy.
type clonePlan struct {
	conf   *vmconfig.Config
	drives []*vmconfig.Drive
	full   bool
}

// cloneVM answers POST /nodes/{node}/qemu/{vmid}/clone (API2/Qemu.pm, clone_vm).
func (s *Server) cloneVM(c *call) (any, error) {
	if name := c.params.Get("snapname"); name != "" {
		return nil, s.onVM(c, func(m *vm) error {
			if _, err := m.snapshot(name); err != nil {
				return err
			}

			return errors.New("cloning a snapshot is not emulated")
		})
	}

	r := &cloning{
		call: c, newID: c.params.Int("newid", 0), target: c.params.Get("target"), storage: c.params.Get("storage"),
		format: c.params.Get("format"), pool: c.params.Get("pool"),
	}
	if r.target == c.node || r.target == "localhost" {
		r.target = ""
	}

	s.mu.Lock()
	if source, err := s.state.find(c.node, c.vmid); err == nil {
		r.running = source.Running
	}
	s.mu.Unlock()

	if _, err := s.planClone(r); err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmclone", strconv.Itoa(c.vmid), c.identity, r.newID, func(w *worker) error {
		return s.clone(w, r)
	})
}

// clone is the worker: shared lock on the source, exclusive lock on the new VM, then the copying.
func (s *Server) clone(w *worker, r *cloning) error {
	limit := s.config.Pace.Timeout(pace.WorkerLockTimeout)

	if err := s.config.Faults.Step(w.ctx, w.info, StepLock); err != nil {
		return err
	}

	lockSource := s.locks.Shared
	if r.running {
		lockSource = s.locks.Exclusive
	}

	releaseSource, err := lockSource(w.ctx, flock.ConfigFile(r.call.vmid), limit)
	if err != nil {
		return err
	}
	defer releaseSource()

	releaseNew, err := s.locks.Exclusive(w.ctx, flock.ConfigFile(r.newID), limit)
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

// beginClone makes the new configuration appear, with nothing but its lock and a comment (API2/Qemu.pm, clone_vm).
func (s *Server) beginClone(r *cloning, plan *clonePlan) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if other, ok := s.state.VMs[r.newID]; ok {
		return fmt.Errorf("unable to create VM %d: config file already exists on node '%s'", r.newID, other.Node)
	}

	if err := s.renew(plan.conf, r.newID); err != nil {
		return err
	}

	locked := vmconfig.New()
	locked.Set("lock", "clone")
	locked.Set("description", "qmclone temporary file\n")
	s.state.VMs[r.newID] = &vm{ID: r.newID, Node: r.call.node, Config: locked}
	s.measure(r.newID)
	s.changed()

	return nil
}

// renew gives a copied configuration its own identity.
func (s *Server) renew(conf *vmconfig.Config, vmid int) error {
	for _, key := range conf.NetworkKeys() {
		card, err := vmconfig.ParseCard(conf.Get(key), s.fields(key))
		if err != nil {
			return fmt.Errorf("unable to parse network device '%s'", key)
		}

		if err := card.GenerateMAC(s.random(fmt.Sprintf("vm %d %s", vmid, key))); err != nil {
			return err
		}

		conf.Set(key, card.String())
	}

	id, err := s.uuid(vmid, "smbios")
	if err != nil {
		return err
	}

	smbios, err := schema.ParseProperties(s.fields("smbios1"), conf.Get("smbios1"))
	if err != nil {
		return err
	}

	smbios["uuid"] = id
	conf.Set("smbios1", schema.PrintProperties(s.fields("smbios1"), smbios))

	if !conf.Has("vmgenid") {
		return nil
	}

	if id, err = s.uuid(vmid, "vmgenid"); err == nil {
		conf.Set("vmgenid", id)
	}

	return err
}

// copyDisks copies one disk after the other and writes the configuration after each. What fails is undone.
func (s *Server) copyDisks(w *worker, r *cloning, plan *clonePlan) error {
	copier := &diskCopier{
		maker: diskMaker{s: s, node: r.call.node, vmid: r.newID, conf: plan.conf, print: w.print},
		w:     w, storage: r.storage, format: r.format, full: plan.full,
	}

	err := s.copyAll(copier, r, plan)

	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed()

	if err != nil {
		copier.maker.undo()
		delete(s.state.VMs, r.newID)

		return fmt.Errorf("clone failed: %w", err)
	}

	plan.conf.Delete("lock")
	s.finishClone(w, r, plan)

	return nil
}

func (s *Server) copyAll(copier *diskCopier, r *cloning, plan *clonePlan) error {
	slices.SortFunc(plan.drives, func(a, b *vmconfig.Drive) int { return strings.Compare(a.Key, b.Key) })

	if len(plan.drives) > 0 {
		copier.announce(plan.drives[0])
	}

	if err := s.config.Faults.Step(copier.w.ctx, copier.w.info, StepCopy); err != nil {
		return err
	}

	if len(plan.drives) == 0 {
		return s.wait(copier.w.ctx, pace.VMClone)
	}

	for i, drive := range plan.drives {
		if i > 0 {
			copier.announce(drive)
		}

		if err := copier.copy(drive); err != nil {
			return err
		}

		plan.conf.Set(drive.Key, drive.String())
		s.publish(r.newID, plan.conf)
	}

	return nil
}

// publish shows the configuration as far as it is.
func (s *Server) publish(vmid int, conf *vmconfig.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state.VMs[vmid].Config = conf.Clone()
	s.changed()
}

func (s *Server) finishClone(w *worker, r *cloning, plan *clonePlan) {
	m := s.state.VMs[r.newID]
	m.Config = plan.conf

	if lag := s.config.Faults.Lag(w.info, EffectUnlock); lag > 0 {
		m.LockUntil = s.config.Now().Add(max(s.config.Pace.Scaled(lag), time.Nanosecond))
	}

	if r.target != "" {
		m.Node = r.target
	}

	s.state.Access.JoinPool(r.newID, r.pool)
}
