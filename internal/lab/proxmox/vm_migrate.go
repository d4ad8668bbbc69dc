package proxmox

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// migrateVM answers POST …/migrate (API2/Qemu.pm, migrate_vm).
func (s *Server) migrateVM(c *call) (any, error) {
	if err := s.rootOnly(c, "force", "migration_type", "migration_network"); err != nil {
		return nil, err
	}

	if err := s.locked(func() error { return s.checkMigrate(c) }); err != nil {
		return nil, err
	}

	if s.isManaged(c.vmid) {
		return s.requestMove(c)
	}

	return s.migrateHere(c)
}

func (s *Server) migrateHere(c *call) (string, error) {
	return s.fork(c.node, "qmigrate", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error {
			if err := s.locked(func() error { return s.checkMovable(w, c) }); err != nil {
				return err
			}

			if err := s.wait(w.ctx, pace.VMMigrate); err != nil {
				return err
			}

			return s.locked(func() error { return s.migrate(w, c) })
		})
	})
}

func (s *Server) checkMigrate(c *call) error {
	target := c.params.Get("target")
	if target == c.node {
		return schema.BadParam("target", "target is local node.")
	}

	if _, ok := s.host(target); !ok {
		return fmt.Errorf("no such cluster node '%s'", target)
	}

	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	if m.Running && !c.params.Bool("online", false) {
		return errors.New("can't migrate running VM without --online")
	}

	return s.checkAvailable(m, c.params.Get("targetstorage"), target)
}

// checkAvailable fails when a storage of the VM is not on the target (QemuServer.pm, check_storage_availability).
func (s *Server) checkAvailable(m *vm, targetStorage, target string) error {
	drives, err := s.drives(m.Config)
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

		if _, err := s.state.storage(id, target); err != nil {
			return err
		}
	}

	return nil
}

// checkMovable finds out what keeps the VM on its node (QemuMigrate.pm, prepare and scan_local_volumes).
func (s *Server) checkMovable(w *worker, c *call) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	for _, key := range m.Config.Keys() {
		if hostpciKey.MatchString(key) && m.Running {
			return fmt.Errorf("can't live migrate running VM which uses following mapped devices: %s", key)
		}
	}

	drives, err := s.drives(m.Config)
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
			w.print("%s", problem)

			stuck = true
		}
	}

	if stuck {
		return errors.New("migration aborted (duration 00:00:01): " +
			"Problem found while scanning volumes - can't migrate VM - check log")
	}

	return nil
}

// stuck says what keeps a drive on its node, or "".
func (s *Server) stuck(c *call, m *vm, drive *vmconfig.Drive) (string, error) {
	if drive.Storage() == "" {
		return "", nil
	}

	st, err := s.state.storage(drive.Storage(), c.node)

	switch {
	case err != nil || st.Shared:
		return "", err
	case drive.CDROM() && !drive.CloudInit():
		return fmt.Sprintf("can't migrate local disk '%s': local cdrom image", drive.Volume()), nil
	case m.Running && !c.params.Bool("with-local-disks", false):
		return "can't live migrate attached local disks without with-local-disks option", nil
	default:
		return "", nil
	}
}

// migrate moves the local volumes and then the configuration.
func (s *Server) migrate(w *worker, c *call) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	drives, err := s.drives(m.Config)
	if err != nil {
		return err
	}

	target := c.params.Get("target")

	for _, drive := range drives {
		if drive.Storage() == "" {
			continue
		}

		if err := s.moveVolume(c, m, drive, target); err != nil {
			return err
		}
	}

	m.Node = target
	s.changed()
	w.print("migration finished successfully (duration 00:00:03)")

	return nil
}

func (s *Server) moveVolume(c *call, m *vm, drive *vmconfig.Drive, target string) error {
	from, err := s.state.storage(drive.Storage(), c.node)
	if err != nil {
		return err
	}

	wanted := c.params.Get("targetstorage")

	switch {
	case from.Shared:
		return nil
	case wanted == "" || wanted == "1" || wanted == from.ID:
		return from.MoveNode(c.node, target, drive.Volume())
	}

	to, err := s.state.storage(wanted, target)
	if err != nil {
		return err
	}

	source, ok := from.Find(c.node, drive.Volume())
	if !ok {
		return missingVolume(drive.Volume())
	}

	moved, err := to.Copy(source, storage.Request{
		Node: target, VMID: m.ID, Identity: source.Identity, Created: source.Created,
	})
	if err != nil {
		return err
	}

	s.freeVolume(c.node, drive.Volume())
	drive.Options["file"] = moved.ID
	m.Config.Set(drive.Key, drive.String())

	return nil
}

// unlinkDisks answers PUT …/unlink, another way to take disks out.
func (s *Server) unlinkDisks(c *call) (any, error) {
	list := c.params.Get("idlist")
	c.params = c.params.Without("idlist")
	c.params["delete"] = schema.Scalar(list)

	return s.updateVM(c)
}
