package proxmox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// moveDisk answers POST …/move_disk to another storage (API2/Qemu.pm, move_vm_disk).
func (s *Server) moveDisk(c *call) (any, error) {
	if c.params.Has("target-vmid") {
		return nil, errors.New("moving a disk to another VM is not emulated")
	}

	if err := s.locked(func() error { return s.checkMove(c) }); err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmmove", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error { return s.move(w, c) })
	})
}

func (s *Server) checkMove(c *call) error {
	target := c.params.Get("storage")
	if target == "" {
		return schema.BadParam("storage", "missing target storage")
	}

	if err := s.state.Access.Check(c.identity, "/storage/"+target, false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	drive, _, err := s.diskOf(c, "you can't move a cdrom")
	if err != nil {
		return err
	}

	if m, err := s.state.find(c.node, c.vmid); err == nil && c.params.Bool("delete", false) && s.isKept(m, drive.Volume()) {
		return errors.New("you can't move a disk with snapshots and delete the source")
	}

	_, extension, _ := strings.Cut(drive.Volume(), ".")

	if format := c.params.Get("format"); drive.Storage() == target && (format == "" || extension == "" || format == extension) {
		return errors.New("you can't move to the same storage with same format")
	}

	st, err := s.state.storage(target, c.node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.Images) {
		return schema.BadParam("storage", "storage '%s' does not support vm images", target)
	}

	return nil
}

// errCopy is how qemu-img ends when the new disk cannot be written (QemuServer/QemuImage.pm, convert).
var errCopy = errors.New("copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw' failed: exit code 1")

func (s *Server) move(w *worker, c *call) error {
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
		maker: diskMaker{s: s, node: c.node, vmid: c.vmid, print: w.print},
		w:     w, storage: c.params.Get("storage"), format: c.params.Get("format"), full: true, keepIdentity: true,
	}

	copier.announce(drive)

	err = copier.copy(drive)
	if err == nil {
		err = s.config.Faults.Step(w.ctx, w.info, StepCopy) // the new volume is there, and is freed again
	}

	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		copier.maker.undo()

		return fmt.Errorf("storage migration failed: %w", err)
	}

	return s.locked(func() error { return s.settleMove(c, drive, old) })
}

func (s *Server) settleMove(c *call, drive *vmconfig.Drive, old string) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	if m.Config.Template() {
		st, err := s.state.storage(drive.Storage(), m.Node)
		if err != nil {
			return err
		}

		if drive.Options["file"], err = st.MakeBase(m.Node, drive.Volume()); err != nil {
			return err
		}
	}

	m.Config.Set(drive.Key, drive.String())

	if c.params.Bool("delete", false) {
		s.freeVolume(m.Node, old)
	} else {
		m.addUnused(old)
	}

	s.changed()

	return nil
}
