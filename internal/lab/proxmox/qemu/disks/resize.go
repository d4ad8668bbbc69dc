package disks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// resizeDisk handles PUT …/resize (API2/Qemu.pm, resize_vm). An error of the disk is in the task.
func (s *Service) resizeDisk(c *api.Call) (any, error) {
	if err := settings.RootOnly(c.Identity, c.Params, "skiplock"); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "resize", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error {
			if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
				return err
			}

			return s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.resize(c, m) })
		})
	})
}

func (s *Service) resize(c *api.Call, m *config.VM) error {
	drive, err := s.diskOf(c, m, "you can't resize a cdrom")
	if err != nil {
		return err
	}

	if err := s.permissions.Check(c.Identity, "/storage/"+drive.Storage(), false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	v, err := s.storages.Volume(m.Node, drive.Volume())
	if err != nil {
		return err
	}

	size, err := newSize(c.Params.Get("size"), v.Size)
	if err != nil {
		return err
	}

	if err := s.storages.Resize(m.Node, v.ID, size); err != nil {
		return err
	}

	drive.SetSize(size)
	m.Config.Set(drive.Key, drive.String())
	s.env.Changed()
	s.Plug(m)

	return nil
}

// newSize parses a size, which may be relative to the current one.
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

// diskOf returns the disk of a request, from a configuration that is not locked.
func (s *Service) diskOf(c *api.Call, m *config.VM, noCDROM string) (*vmconfig.Drive, error) {
	if digest := c.Params.Get("digest"); digest != "" && digest != m.Config.Digest() {
		return nil, errors.New("checksum mismatch (file change by other user?)")
	}

	if err := m.CheckLock(s.env.Now()); err != nil {
		return nil, err
	}

	key := c.Params.Get("disk")
	if !m.Config.Has(key) {
		return nil, fmt.Errorf("disk '%s' does not exist", key)
	}

	drive, err := s.settings.ParseDrive(key, m.Config.Get(key))
	if err != nil {
		return nil, err
	}

	if drive.CDROM() {
		return nil, errors.New(noCDROM)
	}

	return drive, nil
}
