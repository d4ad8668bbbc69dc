package clone

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// planClone runs the checks. They run when the request arrives, and again when the worker has its locks.
func (s *Service) planClone(r *cloning) (*clonePlan, error) {
	if err := s.checkCloneTarget(r); err != nil {
		return nil, err
	}

	other, taken := s.configs.Node(r.newID)
	taken = taken && other == r.call.Node
	plan := &clonePlan{}

	err := s.configs.On(r.call.Node, r.call.VMID, func(source *config.VM) error {
		if err := source.CheckLock(s.env.Now()); err != nil {
			return err
		}

		plan.full = r.call.Params.Bool("full", !source.Config.Template())
		if err := r.check(s.processes.Running(source.ID), plan.full); err != nil {
			return err
		}

		drives, err := s.access.Drives(source.Config)
		if err != nil {
			return err
		}

		if err := s.checkCloneAccess(r, source, drives); err != nil {
			return err
		}

		if taken {
			return fmt.Errorf("unable to create VM %d: config file already exists", r.newID)
		}

		return s.fillClone(r, source, drives, plan)
	})

	return plan, err
}

func (r *cloning) check(running, full bool) error {
	switch {
	case running != r.running:
		return errors.New("unexpected state change")
	case r.storage != "" && !full:
		return errors.New("parameter 'storage' not allowed for linked clones")
	case r.format != "" && !full:
		return errors.New("parameter 'format' not allowed for linked clones")
	default:
		return nil
	}
}

func (s *Service) checkCloneTarget(r *cloning) error {
	if _, ok := s.permissions.Pool(r.pool); r.pool != "" && !ok {
		return &access.Refusal{Detail: fmt.Sprintf("pool '%s' does not exist", r.pool)}
	}

	if _, ok := s.env.Nodes.Host(r.target); r.target != "" && !ok {
		return fmt.Errorf("no such cluster node '%s'", r.target)
	}

	if r.storage == "" {
		return nil
	}

	st, err := s.storages.On(r.storage, r.call.Node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.Images) {
		return schema.BadParam("storage", "storage '%s' does not support vm images", r.storage)
	}

	if r.target == "" {
		return nil
	}

	if _, err := s.storages.On(r.storage, r.target); err != nil {
		return err
	}

	if !st.Shared {
		return fmt.Errorf("can't clone to non-shared storage '%s'", r.storage)
	}

	return nil
}

// checkCloneAccess requires the privileges for the space, the devices and the bridges.
func (s *Service) checkCloneAccess(r *cloning, source *config.VM, drives []*vmconfig.Drive) error {
	shared, err := s.checkCloneStorage(r, drives)
	if err != nil {
		return err
	}

	for _, key := range source.Config.Keys() {
		if !settings.IsPCI(key) && !settings.IsUSB(key) {
			continue
		}

		if err := s.access.CheckDevice(r.call.Identity, r.newID, r.pool, key, source.Config.Get(key)); err != nil {
			return err
		}
	}

	if err := s.access.CheckBridges(r.call.Identity, source.Config.Values); err != nil {
		return err
	}

	if r.target != "" && !shared {
		return fmt.Errorf("can't clone VM to node '%s' (VM uses local storage)", r.target)
	}

	return nil
}

// checkCloneStorage requires the privileges for the space, and reports whether all drives are on shared storage
// (API2/Qemu.pm, check_storage_access_clone).
func (s *Service) checkCloneStorage(r *cloning, drives []*vmconfig.Drive) (shared bool, err error) {
	shared = true

	for _, drive := range drives {
		id := drive.Storage()
		if id == "" {
			continue
		}

		st, err := s.storages.On(id, r.call.Node)
		if err != nil {
			return false, err
		}

		shared = shared && st.Shared

		if drive.CDROM() {
			continue
		}

		id = cmp.Or(r.storage, id)
		if err := s.permissions.Check(r.call.Identity, "/storage/"+id, false, "Datastore.AllocateSpace"); err != nil {
			return false, err
		}
	}

	return shared, nil
}

// fillClone copies the settings, with new MAC addresses and UUIDs, without the template flag, and with CD-ROMs as the only
// drives.
func (s *Service) fillClone(r *cloning, source *config.VM, drives []*vmconfig.Drive, plan *clonePlan) error {
	conf := vmconfig.New()
	maps.Copy(conf.Values, source.Config.Values)

	for _, key := range conf.Keys() {
		if settings.IsUnused(key) || key == "template" {
			conf.Delete(key)
		}
	}

	for _, drive := range drives {
		if drive.CDROM() && !drive.CloudInit() {
			continue
		}

		if err := s.checkCopy(r, drive, plan.full); err != nil {
			return err
		}

		plan.drives = append(plan.drives, drive)
		conf.Delete(drive.Key)
	}

	conf.Set("lock", "clone")
	conf.Set("name", "Copy-of-VM-"+source.Name())

	for _, key := range []string{"name", "description"} {
		if value := r.call.Params.Get(key); value != "" {
			conf.Set(key, value)
		}
	}

	plan.conf = conf

	return nil
}

// checkCopy returns an error for a volume that cannot be copied in that way.
func (s *Service) checkCopy(r *cloning, drive *vmconfig.Drive, full bool) error {
	v, err := s.storages.Volume(r.call.Node, drive.Volume())
	if err != nil {
		return err
	}

	if !full && !drive.CloudInit() && !v.Base() {
		return fmt.Errorf("Linked clone feature is not supported for '%s' (%s)", drive.Volume(), drive.Key)
	}

	return nil
}
