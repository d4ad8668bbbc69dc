package lxc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// destroyContainer handles DELETE /nodes/{node}/lxc/{vmid} (pve-container API2/LXC.pm, destroy_vm).
func (s *Service) destroyContainer(c *api.Call) (any, error) {
	if err := s.on(c.Node, c.VMID, func(ct *container) error { return s.checkDestroy(c, ct) }); err != nil {
		return nil, err
	}

	return s.fork(c, "vzdestroy", func(w *task.Worker) error {
		return s.withLock(w.Ctx, c.VMID, lockLimit, func() error { return s.destroy(w, c) })
	})
}

// checkDestroy runs the checks. They run when the request arrives, and again when the worker has its lock.
func (s *Service) checkDestroy(c *api.Call, ct *container) error {
	if err := ct.checkProtection(fmt.Sprintf("can't remove CT %d", ct.ID)); err != nil {
		return err
	}

	if err := ct.checkLock(); err != nil {
		return err
	}

	if s.isRunning(ct.ID) && !c.Params.Bool("force", false) {
		return fmt.Errorf("unable to destroy CT %d - container is running", ct.ID)
	}

	return nil
}

// destroy frees the volumes and removes the configuration last.
func (s *Service) destroy(w *task.Worker, c *api.Call) error {
	var owned []string

	err := s.on(c.Node, c.VMID, func(ct *container) error {
		for _, values := range []map[string]string{ct.Config.Values, ct.Config.Pending} {
			for _, key := range volumes(values, true) {
				owned = append(owned, s.volumeOf(key, values[key]))
			}
		}

		return s.checkDestroy(c, ct)
	})
	if err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, pace.VMDelete); err != nil {
		return err
	}

	if c.Params.Bool("destroy-unreferenced-disks", false) {
		owned = append(owned, s.parts.Storages.Owned(c.Node, c.VMID)...)
	}

	slices.Sort(owned)

	for _, id := range slices.Compact(owned) {
		if v, err := s.parts.Storages.Volume(c.Node, id); err == nil && v.VMID == c.VMID {
			s.parts.Storages.Free(c.Node, id)
		}
	}

	s.parts.Permissions.ForgetVM(c.VMID)
	s.forget(c.VMID)

	return nil
}

// resizeVolume handles PUT …/resize (API2/LXC.pm, resize_vm).
func (s *Service) resizeVolume(c *api.Call) (any, error) {
	if _, err := s.planResize(c); err != nil {
		return nil, err
	}

	return s.fork(c, "resize", func(w *task.Worker) error {
		return s.withLock(w.Ctx, c.VMID, lockLimit, func() error { return s.resize(w, c) })
	})
}

// growth is the growth of one volume.
type growth struct {
	key    string
	values schema.Properties
	bytes  uint64
}

// planResize runs the checks. They run when the request arrives, and again when the worker has its lock.
func (s *Service) planResize(c *api.Call) (g growth, err error) {
	g.key = c.Params.Get("disk")

	err = s.on(c.Node, c.VMID, func(ct *container) error {
		if err := ct.checkLock(); err != nil {
			return err
		}

		// The name of the disk is a parameter, too, and needs the privilege of an option (check_ct_modify_config_perm).
		if err := s.parts.Permissions.CheckVM(c.Identity, ct.ID, "", false, "VM.Config.Options"); err != nil {
			return err
		}

		if err := ct.checkDigest(c.Params.Get("digest")); err != nil {
			return err
		}

		g.values, err = s.parse(g.key, ct.Config.Get(g.key))

		return err
	})
	if err != nil {
		return g, err
	}

	v, err := s.parts.Storages.Volume(c.Node, g.values["volume"])
	if err != nil {
		return g, err
	}

	if v.VMID != c.VMID {
		return g, fmt.Errorf("can't resize mount point owned by another container (%d)", v.VMID)
	}

	if err := s.parts.Permissions.Check(c.Identity, "/storage/"+v.Storage(), false, "Datastore.AllocateSpace"); err != nil {
		return g, err
	}

	g.bytes, err = wanted(v, c.Params.Get("size"))

	return g, err
}

// wanted returns the new size of a volume: absolute, or more than it has.
func wanted(v storage.Volume, text string) (uint64, error) {
	relative := text != "" && text[0] == '+'
	if relative {
		text = text[1:]
	}

	size, ok := schema.ParseSize(text)

	switch {
	case !ok:
		return 0, errors.New("invalid size string")
	case relative:
		size += v.Size
	}

	switch {
	case size < v.Size:
		return 0, errors.New("unable to shrink disk size")
	case size == v.Size:
		return 0, errors.New("disk is already at specified size")
	default:
		return size, nil
	}
}

func (s *Service) resize(w *task.Worker, c *api.Call) error {
	g, err := s.planResize(c)
	if err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
		return err
	}

	if err := s.parts.Storages.Resize(c.Node, g.values["volume"], g.bytes); err != nil {
		return err
	}

	g.values["size"] = schema.FormatSize(g.bytes)

	return s.on(c.Node, c.VMID, func(ct *container) error {
		ct.Config.Set(g.key, s.print(g.key, g.values))
		s.env.Changed()

		return nil
	})
}
