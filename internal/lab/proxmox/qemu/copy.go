package qemu

import (
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// diskCopier copies the disks of a VM to another VM or to another storage.
type diskCopier struct {
	maker diskMaker
	w     *task.Worker
	// storage and format are where and what the copies are to be; empty means like their source.
	storage, format string
	full            bool
	// keepIdentity is set where the copy takes the place of its source.
	keepIdentity bool
}

// announce is the line before the copy of a drive, and the last one of a worker that hangs in it (qemu-server QemuServer.pm,
// clone_disk).
func (c *diskCopier) announce(drive *vmconfig.Drive) {
	kind := "linked"
	if c.full {
		kind = "full"
	}

	c.w.Print("create %s clone of drive %s (%s)", kind, drive.Key, drive.Volume())
}

// copy replaces the drive's volume by a copy of it (qemu-server QemuServer.pm, clone_disk). Allocation is under the
// storage's lock, the copying is not.
func (c *diskCopier) copy(drive *vmconfig.Drive) error {
	s := c.maker.s

	target := drive.Storage()
	if c.storage != "" {
		target = c.storage
	}

	v, source, err := c.allocate(drive, target)
	if err != nil {
		return err
	}

	c.maker.settle(drive, v)

	if drive.CloudInit() {
		delete(drive.Options, "size")
		return nil
	}

	if !c.full {
		return nil
	}

	data := time.Duration(float64(source.Used) / (1 << 30) * float64(pace.VMCopyPerGiB))
	if err := s.env.Wait(c.w.Ctx, pace.VMClone+data-pace.VolumeAllocate); err != nil {
		return err
	}

	c.w.Print("transferred %s of %s (100.00%%)", sizeGiB(source.Used), sizeGiB(source.Size))

	return nil
}

func (c *diskCopier) allocate(drive *vmconfig.Drive, target string) (made, source storage.Volume, err error) {
	s := c.maker.s

	release, err := s.storages.Lock(c.w.Ctx, c.w.Info, c.maker.node, target)
	if err != nil {
		return made, source, err
	}
	defer release()

	to, err := s.storages.On(target, c.maker.node)
	if err != nil {
		return made, source, err
	}

	source, err = s.storages.Volume(c.maker.node, drive.Volume())
	if err != nil {
		return made, source, err
	}

	made, err = c.duplicate(drive, source, to)

	return made, source, err
}

func (c *diskCopier) duplicate(drive *vmconfig.Drive, source storage.Volume, to storage.Definition) (storage.Volume, error) {
	s := c.maker.s

	identity, err := s.env.Random.UUID(c.maker.vmid, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	if c.keepIdentity {
		identity = source.Identity
	}

	r := storage.Request{
		Node: c.maker.node, VMID: c.maker.vmid, Format: c.format, Identity: identity,
		Created: s.env.Now().Unix(),
	}

	if r.Format == "" && to.Type.FileBased() {
		r.Format = source.Format
	}

	duplicate := s.storages.Copy

	switch {
	case drive.CloudInit():
		r.Name = fmt.Sprintf("vm-%d-cloudinit", c.maker.vmid)
	case !c.full:
		duplicate = s.storages.Link
	}

	made, err := duplicate(c.maker.node, source.ID, to.ID, r)
	if err != nil {
		return storage.Volume{}, err
	}

	c.maker.made = append(c.maker.made, made.ID)

	return made, nil
}

// sizeGiB writes a size as the log of a copy does.
func sizeGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
