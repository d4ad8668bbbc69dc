package proxmox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// resizeDisk answers PUT …/resize (API2/Qemu.pm, resize_vm). What is wrong with the disk shows in the task.
func (s *Server) resizeDisk(c *call) (any, error) {
	if err := s.rootOnly(c, "skiplock"); err != nil {
		return nil, err
	}

	return s.fork(c.node, "resize", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error {
			if err := s.wait(w.ctx, pace.VMResize); err != nil {
				return err
			}

			return s.locked(func() error { return s.resize(c) })
		})
	})
}

func (s *Server) resize(c *call) error {
	drive, m, err := s.diskOf(c, "you can't resize a cdrom")
	if err != nil {
		return err
	}

	if err := s.state.Access.Check(c.identity, "/storage/"+drive.Storage(), false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	st, err := s.state.storage(drive.Storage(), m.Node)
	if err != nil {
		return err
	}

	v, ok := st.Find(m.Node, drive.Volume())
	if !ok {
		return missingVolume(drive.Volume())
	}

	size, err := newSize(c.params.Get("size"), v.Size)
	if err != nil {
		return err
	}

	if err := st.Resize(m.Node, v.ID, size); err != nil {
		return err
	}

	drive.SetSize(size)
	m.Config.Set(drive.Key, drive.String())
	s.changed()
	s.tellDisks(m)

	return nil
}

// newSize reads a wanted size, which may be what to add to the present one.
func newSize(text string, present uint64) (uint64, error) {
	bare, grow := strings.CutPrefix(text, "+")

	size, ok := schema.ParseSize(bare)
	if !ok {
		return 0, fmt.Errorf("unable to parse size '%s'", text)
	}

	if grow {
		size += present
	}

	if size < present {
		return 0, errors.New("shrinking disks is not supported")
	}

	return size, nil
}

// diskOf finds the disk that a request is about, in a configuration that nobody holds.
func (s *Server) diskOf(c *call, noCDROM string) (*vmconfig.Drive, *vm, error) {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return nil, nil, err
	}

	if digest := c.params.Get("digest"); digest != "" && digest != m.Config.Digest() {
		return nil, nil, errors.New("checksum mismatch (file change by other user?)")
	}

	if err := s.checkLock(m); err != nil {
		return nil, nil, err
	}

	key := c.params.Get("disk")
	if !m.Config.Has(key) {
		return nil, nil, fmt.Errorf("disk '%s' does not exist", key)
	}

	drive, err := s.parseDrive(key, m.Config.Get(key))
	if err != nil {
		return nil, nil, err
	}

	if drive.CDROM() {
		return nil, nil, errors.New(noCDROM)
	}

	return drive, m, nil
}
