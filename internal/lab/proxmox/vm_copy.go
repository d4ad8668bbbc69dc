package proxmox

import (
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// diskCopier copies the disks of a VM to another VM or to another storage.
type diskCopier struct {
	maker diskMaker
	w     *worker
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

	c.w.print("create %s clone of drive %s (%s)", kind, drive.Key, drive.Volume())
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
	if err := s.wait(c.w.ctx, pace.VMClone+data-pace.VolumeAllocate); err != nil {
		return err
	}

	c.w.print("transferred %s of %s (100.00%%)", sizeGiB(source.Used), sizeGiB(source.Size))

	return nil
}

func (c *diskCopier) allocate(drive *vmconfig.Drive, target string) (made, source *storage.Volume, err error) {
	s := c.maker.s

	release, err := s.lockStorage(c.w.ctx, c.w.info, c.maker.node, target)
	if err != nil {
		return nil, nil, err
	}
	defer release()

	s.mu.Lock()
	defer s.mu.Unlock()

	from, err := s.state.storage(drive.Storage(), c.maker.node)
	if err != nil {
		return nil, nil, err
	}

	to, err := s.state.storage(target, c.maker.node)
	if err != nil {
		return nil, nil, err
	}

	source, ok := from.Find(c.maker.node, drive.Volume())
	if !ok {
		return nil, nil, missingVolume(drive.Volume())
	}

	made, err = c.duplicate(drive, source, to)

	return made, source, err
}

func (c *diskCopier) duplicate(drive *vmconfig.Drive, source *storage.Volume, to *storage.Storage) (*storage.Volume, error) {
	s := c.maker.s

	identity, err := s.uuid(c.maker.vmid, "disk")
	if err != nil {
		return nil, err
	}

	if c.keepIdentity {
		identity = source.Identity
	}

	r := storage.Request{
		Node: c.maker.node, VMID: c.maker.vmid, Format: c.format, Identity: identity,
		Created: s.config.Now().Unix(),
	}

	if r.Format == "" && to.Type.FileBased() {
		r.Format = source.Format
	}

	link := to.Copy

	switch {
	case drive.CloudInit():
		r.Name = fmt.Sprintf("vm-%d-cloudinit", c.maker.vmid)
	case !c.full:
		link = to.Link
	}

	made, err := link(source, r)
	if err != nil {
		return nil, err
	}

	c.maker.made = append(c.maker.made, made)

	return made, nil
}
