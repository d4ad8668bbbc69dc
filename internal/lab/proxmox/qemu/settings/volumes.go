package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// CheckDriveStorage requires the privileges to allocate or attach a drive (API2/Qemu.pm, check_storage_access).
func (a Access) CheckDriveStorage(identity, node string, vmid int, drive *vmconfig.Drive, fallback string) error {
	volume := drive.Volume()

	if volume == "none" || strings.HasSuffix(volume, "cloudinit") {
		return nil
	}

	if drive.CDROM() && volume == "cdrom" {
		return a.permissions.Check(identity, "/", false, "Sys.Console")
	}

	if target, _, ok := drive.NewDisk(); ok && !drive.CDROM() {
		if err := a.checkAllocate(identity, node, target, fallback); err != nil {
			return err
		}

		return a.checkSource(identity, node, vmid, drive)
	}

	return a.storages.CheckVolume(identity, node, vmid, volume)
}

// checkSource requires the privileges to read the volume that a new disk is filled from. Only root may use a path. The disk of another
// VM is copied, which needs VM.Clone.
func (a Access) checkSource(identity, node string, vmid int, drive *vmconfig.Drive) error {
	source := drive.Options["import-from"]
	if source == "" {
		return nil
	}

	v := storage.Volume{ID: source}
	if v.Imported() || v.Storage() == "" || strings.HasPrefix(source, "/") {
		return a.storages.CheckVolume(identity, node, vmid, source)
	}

	st, err := a.storages.On(v.Storage(), node)
	if err != nil {
		return err
	}

	if err := st.CheckName(source); err != nil {
		return err
	}

	owner := imageOwner.FindStringSubmatch(source)
	if owner == nil {
		return schema.BadParam(drive.Key, "%s has wrong type '%s' - needs to be 'images' or 'import'", source, contentOf(source))
	}

	return a.permissions.Check(identity, "/vms/"+owner[1], false, "VM.Clone")
}

// imageOwner matches the volume of an image, with the VMID of its owner.
var imageOwner = regexp.MustCompile(`(?:vm|base)-(\d+)-`)

// contentOf returns the content type in the name of a file's volume, such as local:iso/x.iso.
func contentOf(volume string) string {
	_, name, _ := strings.Cut(volume, ":")
	content, _, _ := strings.Cut(name, "/")

	return content
}

func (a Access) checkAllocate(identity, node, target, fallback string) error {
	if target == "" {
		target = fallback
	}

	if target == "" {
		return fmt.Errorf("no storage ID specified (and no default storage)")
	}

	if err := a.permissions.Check(identity, "/storage/"+target, false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	st, err := a.storages.On(target, node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.Images) {
		return schema.BadParam("storage", "storage '%s' does not support vm images", target)
	}

	return nil
}
