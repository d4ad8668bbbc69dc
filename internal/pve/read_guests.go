package pve

import (
	"context"
	"encoding/json"
	"strconv"
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
	answer := map[string]json.RawMessage{}
	err := r.get(ctx, &answer, nodePath(guest.Node, guest.Type+"/"+strconv.Itoa(guest.VMID)+"/config"))
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

// Firmware returns the UUID of the guest's firmware; empty if it has none.
func (c GuestConfig) Firmware() string { return smbiosUUID(c["smbios1"]) }
