// Package migrate moves VMs and their local disks to other nodes of the cluster (qemu-server QemuMigrate.pm). It is
// stateless. A migration holds the lock file of the configuration.
package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// migrateVM handles POST …/migrate (API2/Qemu.pm, migrate_vm).
func (s *Service) migrateVM(c *api.Call) (any, error) {
	if err := settings.RootOnly(c.Identity, c.Params, "force", "migration_type", "migration_network"); err != nil {
		return nil, err
	}

	if err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.checkMigrate(c, m) }); err != nil {
		return nil, err
	}

	if s.ha.Managed(c.VMID) {
		return s.ha.RequestMove(c)
	}

	return s.Here(c)
}

// Here starts the task that migrates a VM, whether it is managed by the HA manager or not.
func (s *Service) Here(c *api.Call) (string, error) {
	return s.env.Tasks.Fork(c.Node, "qmigrate", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error {
			if err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.checkMovable(w, c, m) }); err != nil {
				return err
			}

			if err := s.env.Wait(w.Ctx, pace.VMMigrate); err != nil {
				return err
			}

			return s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.migrate(w, c, m) })
		})
	})
}

func (s *Service) checkMigrate(c *api.Call, m *config.VM) error {
	target := c.Params.Get("target")
	if target == c.Node {
		return schema.BadParam("target", "target is local node.")
	}

	if _, ok := s.env.Nodes.Host(target); !ok {
		return fmt.Errorf("no such cluster node '%s'", target)
	}

	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	if s.processes.Running(m.ID) && !c.Params.Bool("online", false) {
		return errors.New("can't migrate running VM without --online")
	}

	return s.checkAvailable(m, c.Params.Get("targetstorage"), target)
}

// checkAvailable returns an error if a storage of the VM does not exist on the target (QemuServer.pm,
// check_storage_availability).
func (s *Service) checkAvailable(m *config.VM, targetStorage, target string) error {
	drives, err := s.settings.Drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		id := drive.Storage()
		if id == "" {
			continue
		}

		if targetStorage != "" && targetStorage != "1" && !drive.CDROM() {
			id = targetStorage
		}

		if _, err := s.storages.On(id, target); err != nil {
			return err
		}
	}

	return nil
}

// checkMovable returns what prevents the migration (QemuMigrate.pm, prepare and scan_local_volumes).
func (s *Service) checkMovable(w *task.Worker, c *api.Call, m *config.VM) error {
	for _, key := range m.Config.Keys() {
		if settings.IsPCI(key) && s.processes.Running(m.ID) {
			return fmt.Errorf("can't live migrate running VM which uses following mapped devices: %s", key)
		}
	}

	drives, err := s.drivesOf(m)
	if err != nil {
		return err
	}

	stuck := false

	for _, drive := range drives {
		problem, err := s.stuck(c, m, drive)
		if err != nil {
			return err
		}

		if problem != "" {
			w.Print("%s", problem)

			stuck = true
		}
	}

	if stuck {
		return errors.New("migration aborted (duration 00:00:01): " +
			"Problem found while scanning volumes - can't migrate VM - check log")
	}

	return nil
}

// drivesOf returns the drives of a VM and, with the volumes that it does not have any more, those of its snapshots (QemuServer.pm, foreach_volid).
func (s *Service) drivesOf(m *config.VM) ([]*vmconfig.Drive, error) {
	drives, err := s.settings.Drives(m.Config)
	if err != nil {
		return nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(m.Snapshots)) {
		taken, err := s.settings.Drives(m.Snapshots[name].Config)
		if err != nil {
			return nil, err
		}

		for _, drive := range taken {
			if !slices.ContainsFunc(drives, func(d *vmconfig.Drive) bool { return d.Volume() == drive.Volume() }) {
				drives = append(drives, drive)
			}
		}
	}

	return drives, nil
}

// stuck returns why a drive cannot be moved, or "".
func (s *Service) stuck(c *api.Call, m *config.VM, drive *vmconfig.Drive) (string, error) {
	if drive.Storage() == "" {
		return "", nil
	}

	st, err := s.storages.On(drive.Storage(), c.Node)

	switch {
	case err != nil || st.Shared:
		return "", err
	case drive.CDROM() && !drive.CloudInit():
		return fmt.Sprintf("can't migrate local disk '%s': local cdrom image", drive.Volume()), nil
	case m.InSnapshot(drive.Volume()) && !drive.CDROM() && s.heldBySnapshots(m, drive, st) != "":
		return fmt.Sprintf("can't migrate local disk '%s': %s", drive.Volume(), s.heldBySnapshots(m, drive, st)), nil
	case s.processes.Running(m.ID) && !c.Params.Bool("with-local-disks", false):
		return "can't live migrate attached local disks without with-local-disks option", nil
	default:
		return "", nil
	}
}

// heldBySnapshots returns why a local disk with snapshots cannot be moved, or "". Only ZFS and the format qcow2 take them along.
func (s *Service) heldBySnapshots(m *config.VM, drive *vmconfig.Drive, st storage.Definition) string {
	switch {
	case s.processes.Running(m.ID):
		return "online storage migration not possible if non-replicated snapshot exists"
	case st.Type != storage.ZFSPool && !strings.HasSuffix(drive.Volume(), ".qcow2"):
		return "non-migratable snapshot exists"
	default:
		return ""
	}
}

// migrate moves the local volumes and then the configuration.
func (s *Service) migrate(w *task.Worker, c *api.Call, m *config.VM) error {
	drives, err := s.settings.Drives(m.Config)
	if err != nil {
		return err
	}

	target := c.Params.Get("target")

	for _, drive := range drives {
		if drive.Storage() == "" {
			continue
		}

		if err := s.moveVolume(c, m, drive, target); err != nil {
			return err
		}
	}

	m.Node = target
	s.env.Guests.Move(m.ID, m.Node)
	s.processes.Moved(m.ID, target)
	s.env.Changed()
	w.Print("migration finished successfully (duration 00:00:03)")

	return nil
}

func (s *Service) moveVolume(c *api.Call, m *config.VM, drive *vmconfig.Drive, target string) error {
	from, err := s.storages.On(drive.Storage(), c.Node)
	if err != nil {
		return err
	}

	wanted := c.Params.Get("targetstorage")

	switch {
	case from.Shared:
		return nil
	case wanted == "" || wanted == "1" || wanted == from.ID:
		return s.storages.MoveNode(c.Node, target, drive.Volume())
	}

	to, err := s.storages.On(wanted, target)
	if err != nil {
		return err
	}

	source, err := s.storages.Volume(c.Node, drive.Volume())
	if err != nil {
		return err
	}

	moved, err := s.storages.Copy(c.Node, source.ID, to.ID, storage.Request{
		Node: target, VMID: m.ID, Identity: source.Identity, Created: source.Created,
	})
	if err != nil {
		return err
	}

	s.storages.Free(c.Node, drive.Volume())
	drive.Options["file"] = moved.ID
	m.Config.Set(drive.Key, drive.String())

	return nil
}
