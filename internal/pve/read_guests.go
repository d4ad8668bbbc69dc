package pve

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Guest is a virtual machine or a container, anywhere in the cluster.
type Guest struct {
	VMID int    `json:"vmid"`
	Name string `json:"name"`
	Node string `json:"node"`
	// Type is qemu or lxc.
	Type   string `json:"type"`
	Status string `json:"status"`
	// Pool that it belongs to; empty for none, or if the token may not see it (pve-manager, PVE/API2/Cluster.pm, resources:
	// Pool.Audit).
	Pool string `json:"pool"`
	// Lock is the operation that holds it: clone, create, backup and so on; empty if there is none.
	Lock        string `json:"lock"`
	Template    Flag   `json:"template"`
	MemoryBytes uint64 `json:"maxmem"`
}

// Guests returns the guests that the token may see.
func (r Reader) Guests(ctx context.Context) (guests []Guest, err error) {
	return guests, r.get(ctx, &guests, "/cluster/resources", "type", "vm")
}

// GuestConfig is the configuration of a guest: the text of each of its settings, such as net0.
type GuestConfig map[string]string

// GuestConfig reads the configuration of a guest.
func (r Reader) GuestConfig(ctx context.Context, guest Guest) (GuestConfig, error) {
	return r.guestConfig(ctx, guest)
}

// SnapshotConfig reads the configuration that a snapshot of a guest has.
func (r Reader) SnapshotConfig(ctx context.Context, guest Guest, snapshot string) (GuestConfig, error) {
	return r.guestConfig(ctx, guest, "snapshot", snapshot)
}

func (r Reader) guestConfig(ctx context.Context, guest Guest, query ...string) (GuestConfig, error) {
	answer := map[string]json.RawMessage{}
	err := r.get(ctx, &answer, guest.path("/config"), query...)
	config := make(GuestConfig, len(answer))
	for key, value := range answer {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // a number
		}
		config[key] = text
	}
	return config, err
}

// IsEmpty reports whether a task has only begun to create the guest, even if its lock was removed since: it has no name, no
// disk and no other hardware (qemu-server API2/Qemu.pm, clone_vm, "qmclone temporary file"; QemuConfig.pm,
// create_and_lock_config).
func (c GuestConfig) IsEmpty() bool {
	for key := range c {
		if key != "lock" && key != "digest" && key != "description" {
			return false
		}
	}
	return true
}

// drive matches the settings of a virtual machine that have a volume (qemu-server, QemuServer/Drive.pm, valid_drive_names); an unused volume is in no
// snapshot.
var drive = regexp.MustCompile(`^(?:ide|sata|scsi|virtio|efidisk|tpmstate)\d+$`)

// Disks returns the volumes of a virtual machine by their drives, such as scsi0 and efidisk0. It leaves out CD-ROMs and devices of the host.
func (c GuestConfig) Disks() map[string]string { return c.volumes(false) }

// ISOs returns the ISOs in the CD-ROM drives of a virtual machine by these drives, such as ide2: volumes like local:iso/debian.iso. The drive of
// cloud-init has none.
func (c GuestConfig) ISOs() map[string]string {
	inserted := c.volumes(true)
	maps.DeleteFunc(inserted, func(_, volume string) bool { return !strings.Contains(volume, ":iso/") })
	return inserted
}

// volumes returns the volumes of all drives that are CD-ROMs, or of those that are none.
func (c GuestConfig) volumes(ofCDs bool) map[string]string {
	found := map[string]string{}
	for key, value := range c {
		volume, options, _ := strings.Cut(strings.TrimPrefix(value, "file="), ",")
		isCD := slices.Contains(strings.Split(options, ","), "media=cdrom")
		if drive.MatchString(key) && isCD == ofCDs && strings.Contains(volume, ":") && !strings.HasPrefix(volume, "/") {
			found[key] = volume
		}
	}
	return found
}

// Firmware returns the UUID of the guest's firmware; empty if it has none.
func (c GuestConfig) Firmware() string { return smbiosUUID(c["smbios1"]) }
