package disks

import (
	"context"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// importDisk fills a new disk from another volume, such as a disk image that was downloaded (qemu-server API2/Qemu.pm, create_disks
// and import_from_volid). The disk has the size of the image. The allocation holds the storage's lock, the copying does not.
func (m *Maker) importDisk(ctx context.Context, drive *vmconfig.Drive, target string) error {
	source := drive.Options["import-from"]

	from, err := m.s.storages.Volume(m.Node, source)
	if err != nil {
		return m.missing(source, err)
	}

	st, err := m.s.storages.On(target, m.Node)
	if err != nil {
		return err
	}

	v, err := m.copyOf(ctx, from, st, drive.Options["format"])
	if err != nil {
		return fmt.Errorf("cannot import from '%s' - %w", source, err)
	}

	data := time.Duration(float64(from.Used) / (1 << 30) * float64(pace.VMCopyPerGiB))
	if err := m.s.env.Wait(ctx, data); err != nil {
		return err
	}

	m.Print("transferred %s of %s (100.00%%)", sizeGiB(from.Size), sizeGiB(from.Size))
	delete(drive.Options, "import-from")

	return m.finish(drive, v)
}

// missing returns Proxmox VE's error for the source of an import that does not exist. A file is checked first, since it is not trusted
// (pve-storage Plugin.pm, file_size_info).
func (m *Maker) missing(source string, err error) error {
	file := storage.Volume{ID: source, Content: storage.Import}

	st, failed := m.s.storages.On(file.Storage(), m.Node)
	if failed != nil || !file.Imported() {
		return fmt.Errorf("cannot import from '%s' - %w", source, err)
	}

	return fmt.Errorf("failed to stat '%s'", st.FilePath(&file))
}

// copyOf allocates a volume and copies another one into it.
func (m *Maker) copyOf(ctx context.Context, from storage.Volume, st storage.Definition, format string) (storage.Volume, error) {
	release, err := m.s.storages.Lock(ctx, m.Worker, m.Node, st.ID)
	if err != nil {
		return storage.Volume{}, err
	}
	defer release()

	identity, err := m.s.env.Random.UUID(m.VMID, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	if format == "" && st.Type.FileBased() {
		format = from.Format
	}

	v, err := m.s.storages.Copy(m.Node, from.ID, st.ID, storage.Request{
		Node: m.Node, VMID: m.VMID, Format: format, Identity: identity, Created: m.s.env.Now().Unix(),
	})
	if err == nil {
		m.made = append(m.made, v.ID)
	}

	return v, err
}
