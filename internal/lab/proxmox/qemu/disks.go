package qemu

import (
	"context"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Sizes of disks that have a fixed one (qemu-server QemuServer/Drive.pm, QemuServer/Cloudinit.pm, OVMF.pm).
const (
	cloudInitBytes = 4 << 20
	tpmBytes       = 4 << 20
	efiBytes       = 528 << 10
	efiSmallBytes  = 128 << 10
)

// diskMaker makes the disks that a request asks for, and frees them again if a later one fails.
type diskMaker struct {
	s        *Service
	node     string
	vmid     int
	template bool
	// conf is the configuration that the disks are for, fallback the storage of a request that names none.
	conf     *vmconfig.Config
	fallback string
	// made are the volumes that were made.
	made []string
	// print logs what was made.
	print func(format string, args ...any)
	// info is the worker that makes the disks; a change without a worker has a node and a VM only.
	info task.Info
}

// make turns the request for one drive into the drive as the configuration has it (API2/Qemu.pm, create_disks). The
// storage is locked while a volume is allocated, so the service must not be locked by the caller.
func (m *diskMaker) make(ctx context.Context, drive *vmconfig.Drive) error {
	target, size, blank := drive.NewDisk()
	blank = blank && !drive.CDROM()
	cloudInit := strings.HasSuffix(drive.Volume(), ":cloudinit")

	if blank && target == "" {
		target = m.fallback
	}

	if cloudInit {
		target = drive.Storage()
	}

	if blank || cloudInit {
		release, err := m.s.storages.Lock(ctx, m.info, m.node, target)
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

func (m *diskMaker) makeCloudInit(drive *vmconfig.Drive) error {
	for _, key := range m.conf.DriveKeys() {
		if other, err := m.s.parseDrive(key, m.conf.Get(key)); err == nil && key != drive.Key && other.CloudInit() {
			return fmt.Errorf("%s - cloud-init drive is already attached at '%s'", drive.Key, key)
		}
	}

	format := drive.Options["format"]

	st, err := m.s.storages.On(drive.Storage(), m.node)
	if err != nil {
		return err
	}

	if format == "" && st.Type.FileBased() {
		format = "qcow2"
	}

	name := fmt.Sprintf("vm-%d-cloudinit", m.vmid)

	v, err := m.allocate(st.ID, storage.Request{Format: format, Name: name, Bytes: cloudInitBytes})
	if err != nil {
		return err
	}

	drive.Options["media"] = "cdrom"
	m.settle(drive, v)
	delete(drive.Options, "size")

	return nil
}

func (m *diskMaker) makeDisk(drive *vmconfig.Drive, target, gib string) error {
	if drive.Options["import-from"] != "" {
		return fmt.Errorf("cannot import from '%s' - importing disk images is not emulated", drive.Options["import-from"])
	}

	st, err := m.s.storages.On(target, m.node)
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

	if m.template {
		if v.ID, err = m.s.storages.MakeBase(m.node, v.ID); err != nil {
			return err
		}

		m.made[len(m.made)-1] = v.ID
	}

	m.settle(drive, v)
	m.print("%s: successfully created disk '%s'", drive.Key, drive)

	return nil
}

// fixedSize replaces the size of disks that are no matter of taste.
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

func (m *diskMaker) allocate(id string, r storage.Request) (storage.Volume, error) {
	identity, err := m.s.env.Random.UUID(m.vmid, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	r.Node, r.VMID, r.Identity, r.Created = m.node, m.vmid, identity, m.s.env.Now().Unix()

	v, err := m.s.storages.Allocate(id, r)
	if err != nil {
		return storage.Volume{}, err
	}

	m.made = append(m.made, v.ID)

	return v, nil
}

// settle records the volume in the drive.
func (m *diskMaker) settle(drive *vmconfig.Drive, v storage.Volume) {
	drive.Options["file"] = v.ID
	drive.SetSize(v.Size)
	delete(drive.Options, "format")
}

// attach uses a volume that exists.
func (m *diskMaker) attach(drive *vmconfig.Drive) error {
	volume := drive.Volume()

	v, err := m.s.storages.Volume(m.node, volume)
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

// undo frees what was made.
func (m *diskMaker) undo() {
	for _, id := range m.made {
		m.s.storages.Free(m.node, id)
	}
}

// checkDrives verifies the drives among the parameters and brings them into form (API2/Qemu.pm, check_drive_param).
func (s settings) checkDrives(params schema.Params) ([]*vmconfig.Drive, error) {
	var drives []*vmconfig.Drive

	for _, key := range params.Names() {
		if !vmconfig.IsDrive(key) || params.Get(key) == "" {
			continue
		}

		drive, err := s.parseDrive(key, params.Get(key))
		if err != nil {
			return nil, err
		}

		if strings.Contains(drive.Volume(), ":iso/") && storage.IsISOName(drive.Volume()) && !drive.CDROM() {
			return nil, schema.BadParam(key, "explicit 'media=cdrom' is required for iso images")
		}

		if drive.CDROM() && drive.Options["format"] != "" {
			return nil, schema.BadParam(key, "unable to parse drive options")
		}

		drives = append(drives, drive)
	}

	return drives, nil
}
