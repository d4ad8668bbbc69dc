package disks

import (
	"context"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Fixed sizes of disks (qemu-server QemuServer/Drive.pm, QemuServer/Cloudinit.pm, OVMF.pm).
const (
	cloudInitBytes = 4 << 20
	tpmBytes       = 4 << 20
	efiBytes       = 528 << 10
	efiSmallBytes  = 128 << 10
)

// Target is the VM for which disks are created.
type Target struct {
	Node string
	VMID int
	// Template turns new disks into base volumes.
	Template bool
	// Config is the VM's configuration. Storage is the default storage of the request.
	Config  *vmconfig.Config
	Storage string
	// Print logs each new disk.
	Print func(format string, args ...any)
	// Worker creates the disks. A change without a worker has only a node and a VM.
	Worker task.Info
}

// Maker creates the disks of a request, and removes them if a later one fails.
type Maker struct {
	Target

	s *Service
	// made are the created volumes.
	made []string
}

// Maker returns a maker for a target.
func (s *Service) Maker(target Target) Maker { return Maker{Target: target, s: s} }

// Make turns the request for one drive into the drive for the configuration (API2/Qemu.pm, create_disks). It locks the
// storage while a volume is allocated, so the caller must not hold the lock of the service.
func (m *Maker) Make(ctx context.Context, drive *vmconfig.Drive) error {
	target, size, blank := drive.NewDisk()
	blank = blank && !drive.CDROM()
	cloudInit := strings.HasSuffix(drive.Volume(), ":cloudinit")

	if blank && target == "" {
		target = m.Storage
	}

	if drive.Options["import-from"] != "" {
		return m.importDisk(ctx, drive, target)
	}

	if cloudInit {
		target = drive.Storage()
	}

	if blank || cloudInit {
		release, err := m.s.storages.Lock(ctx, m.Worker, m.Node, target)
		if err != nil {
			return err
		}
		defer release()
	}

	switch {
	case drive.Volume() == "none" || drive.Volume() == "cdrom":
		delete(drive.Options, "size")
		return nil
	case cloudInit:
		return m.makeCloudInit(drive)
	case blank:
		return m.makeDisk(drive, target, size)
	default:
		return m.attach(drive)
	}
}

func (m *Maker) makeCloudInit(drive *vmconfig.Drive) error {
	for _, key := range m.Config.DriveKeys() {
		if other, err := m.s.settings.ParseDrive(key, m.Config.Get(key)); err == nil && key != drive.Key && other.CloudInit() {
			return fmt.Errorf("%s - cloud-init drive is already attached at '%s'", drive.Key, key)
		}
	}

	format := drive.Options["format"]

	st, err := m.s.storages.On(drive.Storage(), m.Node)
	if err != nil {
		return err
	}

	if format == "" && st.Type.FileBased() {
		format = "qcow2"
	}

	name := fmt.Sprintf("vm-%d-cloudinit", m.VMID)

	v, err := m.allocate(st.ID, storage.Request{Format: format, Name: name, Bytes: cloudInitBytes})
	if err != nil {
		return err
	}

	drive.Options["media"] = "cdrom"
	m.settle(drive, v)
	delete(drive.Options, "size")

	return nil
}

func (m *Maker) makeDisk(drive *vmconfig.Drive, target, gib string) error {
	st, err := m.s.storages.On(target, m.Node)
	if err != nil {
		return err
	}

	size, ok := schema.ParseSize(gib + "G")
	if !ok {
		return schema.BadParam(drive.Key, "unable to parse drive options")
	}

	v, err := m.allocate(st.ID, fixedSize(drive, storage.Request{Format: drive.Options["format"], Bytes: size}))
	if err != nil {
		return err
	}

	return m.finish(drive, v)
}

// finish turns the disk of a template into a base volume, and sets the volume of the drive.
func (m *Maker) finish(drive *vmconfig.Drive, v storage.Volume) (err error) {
	if m.Template {
		if v.ID, err = m.s.storages.MakeBase(m.Node, v.ID); err != nil {
			return err
		}

		m.made[len(m.made)-1] = v.ID
	}

	m.settle(drive, v)
	m.Print("%s: successfully created disk '%s'", drive.Key, drive)

	return nil
}

// fixedSize sets the size of disks with a fixed size.
func fixedSize(drive *vmconfig.Drive, r storage.Request) storage.Request {
	switch {
	case drive.Key == "efidisk0" && drive.Options["efitype"] == "4m":
		r.Bytes = efiBytes
	case drive.Key == "efidisk0":
		r.Bytes = efiSmallBytes
	case drive.Key == "tpmstate0":
		r.Bytes, r.Format = tpmBytes, "raw"
	}

	return r
}

func (m *Maker) allocate(id string, r storage.Request) (storage.Volume, error) {
	identity, err := m.s.env.Random.UUID(m.VMID, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	r.Node, r.VMID, r.Identity, r.Created = m.Node, m.VMID, identity, m.s.env.Now().Unix()

	v, err := m.s.storages.Allocate(id, r)
	if err != nil {
		return storage.Volume{}, err
	}

	m.made = append(m.made, v.ID)

	return v, nil
}

// settle sets the volume of the drive.
func (m *Maker) settle(drive *vmconfig.Drive, v storage.Volume) {
	drive.Options["file"] = v.ID
	drive.SetSize(v.Size)
	delete(drive.Options, "format")
}

// attach uses an existing volume.
func (m *Maker) attach(drive *vmconfig.Drive) error {
	volume := drive.Volume()

	v, err := m.s.storages.Volume(m.Node, volume)
	if err != nil {
		return err
	}

	if format := drive.Options["format"]; format != "" && format != v.Format && v.Content == storage.Images {
		return fmt.Errorf("drive '%s' - volume '%s' - 'format=%s' option different from storage format '%s'",
			drive.Key, volume, format, v.Format)
	}

	drive.SetSize(v.Size)

	return nil
}

// Undo removes the created volumes.
func (m *Maker) Undo() {
	for _, id := range m.made {
		m.s.storages.Free(m.Node, id)
	}
}
