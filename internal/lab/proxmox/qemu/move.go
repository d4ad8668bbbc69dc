package qemu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// moveDisk answers POST …/move_disk to another storage (API2/Qemu.pm, move_vm_disk).
func (s *Service) moveDisk(c *api.Call) (any, error) {
	if c.Params.Has("target-vmid") {
		return nil, errors.New("moving a disk to another VM is not emulated")
	}

	if err := s.locked(func() error { return s.checkMove(c) }); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmmove", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.withConfigLock(w.Ctx, c.VMID, func() error { return s.move(w, c) })
	})
}

func (s *Service) checkMove(c *api.Call) error {
	target := c.Params.Get("storage")
	if target == "" {
		return schema.BadParam("storage", "missing target storage")
	}

	if err := s.permissions.Check(c.Identity, "/storage/"+target, false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	drive, _, err := s.diskOf(c, "you can't move a cdrom")
	if err != nil {
		return err
	}

	if m, err := s.find(c.Node, c.VMID); err == nil && c.Params.Bool("delete", false) && s.isKept(m, drive.Volume()) {
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

// ErrCopy is how qemu-img ends when the new disk cannot be written (QemuServer/QemuImage.pm, convert).
var ErrCopy = errors.New("copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw' failed: exit code 1")

func (s *Service) move(w *task.Worker, c *api.Call) error {
	var drive *vmconfig.Drive

	err := s.locked(func() error {
		if err := s.checkMove(c); err != nil {
			return err
		}

		found, _, err := s.diskOf(c, "you can't move a cdrom")
		drive = found

		return err
	})
	if err != nil {
		return err
	}

	old := drive.Volume()
	copier := &diskCopier{
		maker: diskMaker{s: s, node: c.Node, vmid: c.VMID, print: w.Print},
		w:     w, storage: c.Params.Get("storage"), format: c.Params.Get("format"), full: true, keepIdentity: true,
	}

	copier.announce(drive)

	err = copier.copy(drive)
	if err == nil {
		err = s.env.Faults.Step(w.Ctx, w.Info, task.StepCopy) // the new volume is there, and is freed again
	}

	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		copier.maker.undo()

		return fmt.Errorf("storage migration failed: %w", err)
	}

	return s.locked(func() error { return s.settleMove(c, drive, old) })
}

func (s *Service) settleMove(c *api.Call, drive *vmconfig.Drive, old string) error {
	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return err
	}

	if m.Config.Template() {
		if drive.Options["file"], err = s.storages.MakeBase(m.Node, drive.Volume()); err != nil {
			return err
		}
	}

	m.Config.Set(drive.Key, drive.String())

	if c.Params.Bool("delete", false) {
		s.storages.Free(m.Node, old)
	} else {
		m.addUnused(old)
	}

	s.env.Changed()

	return nil
}
