package disks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// moveDisk handles POST …/move_disk to another storage (API2/Qemu.pm, move_vm_disk).
func (s *Service) moveDisk(c *api.Call) (any, error) {
	if c.Params.Has("target-vmid") {
		return nil, errors.New("moving a disk to another VM is not emulated")
	}

	if err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.checkMove(c, m) }); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmmove", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.move(w, c) })
	})
}

func (s *Service) checkMove(c *api.Call, m *config.VM) error {
	target := c.Params.Get("storage")
	if target == "" {
		return schema.BadParam("storage", "missing target storage")
	}

	if err := s.permissions.Check(c.Identity, "/storage/"+target, false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	drive, err := s.diskOf(c, m, "you can't move a cdrom")
	if err != nil {
		return err
	}

	if c.Params.Bool("delete", false) && m.InSnapshot(drive.Volume()) {
		return errors.New("you can't move a disk with snapshots and delete the source")
	}

	_, extension, _ := strings.Cut(drive.Volume(), ".")

	if format := c.Params.Get("format"); drive.Storage() == target && (format == "" || extension == "" || format == extension) {
		return errors.New("you can't move to the same storage with same format")
	}

	st, err := s.storages.On(target, c.Node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.Images) {
		return schema.BadParam("storage", "storage '%s' does not support vm images", target)
	}

	return nil
}

// ErrCopy is the error of qemu-img when the new disk cannot be written (QemuServer/QemuImage.pm, convert).
var ErrCopy = errors.New("copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw' failed: exit code 1")

func (s *Service) move(w *task.Worker, c *api.Call) error {
	var drive *vmconfig.Drive

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) (err error) {
		if err = s.checkMove(c, m); err == nil {
			drive, err = s.diskOf(c, m, "you can't move a cdrom")
		}

		return err
	})
	if err != nil {
		return err
	}

	old := drive.Volume()
	copier := s.Copier(Copies{
		Target: Target{Node: c.Node, VMID: c.VMID, Print: w.Print},
		Worker: w, Storage: c.Params.Get("storage"), Format: c.Params.Get("format"), Full: true, KeepIdentity: true,
	})

	copier.Announce(drive)

	err = copier.Copy(drive)
	if err == nil {
		err = s.env.Faults.Step(w.Ctx, w.Info, task.StepCopy) // the new volume exists, and is removed again
	}

	if err != nil {
		copier.Undo()

		return fmt.Errorf("storage migration failed: %w", err)
	}

	return s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.settleMove(c, m, drive, old) })
}

func (s *Service) settleMove(c *api.Call, m *config.VM, drive *vmconfig.Drive, old string) (err error) {
	if m.Config.Template() {
		if drive.Options["file"], err = s.storages.MakeBase(m.Node, drive.Volume()); err != nil {
			return err
		}
	}

	m.Config.Set(drive.Key, drive.String())

	if c.Params.Bool("delete", false) {
		s.storages.Free(m.Node, old)
	} else {
		m.AddUnused(old)
	}

	s.env.Changed()

	return nil
}
