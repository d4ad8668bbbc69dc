package disks

import (
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Copies describes copies of the disks of a VM, for another VM or on another storage.
type Copies struct {
	Target

	Worker *task.Worker
	// Storage and Format of the copies; empty means those of the source.
	Storage, Format string
	// Full copies do not depend on their source.
	Full bool
	// KeepIdentity is set if the copy replaces its source.
	KeepIdentity bool
}

// Copier copies disks, and removes the copies if a later one fails.
type Copier struct {
	Copies

	maker Maker
}

// Copier returns a copier for these copies.
func (s *Service) Copier(copies Copies) Copier {
	return Copier{Copies: copies, maker: s.Maker(copies.Target)}
}

// Undo removes the copies.
func (c *Copier) Undo() { c.maker.Undo() }

// Announce prints the log line before the copy of a drive. It is the last line of a worker that hangs in the copy
// (qemu-server QemuServer.pm, clone_disk).
func (c *Copier) Announce(drive *vmconfig.Drive) {
	kind := "linked"
	if c.Full {
		kind = "full"
	}

	c.Worker.Print("create %s clone of drive %s (%s)", kind, drive.Key, drive.Volume())
}

// Copy replaces the drive's volume by a copy (qemu-server QemuServer.pm, clone_disk). The allocation holds the storage's
// lock, the copying does not.
func (c *Copier) Copy(drive *vmconfig.Drive) error {
	s := c.maker.s

	target := drive.Storage()
	if c.Storage != "" {
		target = c.Storage
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

	if !c.Full {
		return nil
	}

	data := time.Duration(float64(source.Used) / (1 << 30) * float64(pace.VMCopyPerGiB))
	if err := s.env.Wait(c.Worker.Ctx, pace.VMClone+data-pace.VolumeAllocate); err != nil {
		return err
	}

	c.Worker.Print("transferred %s of %s (100.00%%)", sizeGiB(source.Used), sizeGiB(source.Size))

	return nil
}

func (c *Copier) allocate(drive *vmconfig.Drive, target string) (made, source storage.Volume, err error) {
	s := c.maker.s

	release, err := s.storages.Lock(c.Worker.Ctx, c.Worker.Info, c.Node, target)
	if err != nil {
		return made, source, err
	}
	defer release()

	to, err := s.storages.On(target, c.Node)
	if err != nil {
		return made, source, err
	}

	source, err = s.storages.Volume(c.Node, drive.Volume())
	if err != nil {
		return made, source, err
	}

	made, err = c.duplicate(drive, source, to)

	return made, source, err
}

func (c *Copier) duplicate(drive *vmconfig.Drive, source storage.Volume, to storage.Definition) (storage.Volume, error) {
	s := c.maker.s

	identity, err := s.env.Random.UUID(c.VMID, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	if c.KeepIdentity {
		identity = source.Identity
	}

	r := storage.Request{
		Node: c.Node, VMID: c.VMID, Format: c.Format, Identity: identity,
		Created: s.env.Now().Unix(),
	}

	if r.Format == "" && to.Type.FileBased() {
		r.Format = source.Format
	}

	duplicate := s.storages.Copy

	switch {
	case drive.CloudInit():
		r.Name = fmt.Sprintf("vm-%d-cloudinit", c.VMID)
	case !c.Full:
		duplicate = s.storages.Link
	}

	made, err := duplicate(c.Node, source.ID, to.ID, r)
	if err != nil {
		return storage.Volume{}, err
	}

	c.maker.made = append(c.maker.made, made.ID)

	return made, nil
}

// sizeGiB returns a size in the format of a copy's log.
func sizeGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
