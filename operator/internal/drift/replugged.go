package drift

import (
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// replugged returns the disks of a machine with the slots of those that were unplugged by hand and plugged in again; nil if there are
// none. A refresh that was written into the state in between, such as that of `pulumi up`, has left a disk without a slot there. The
// provider looks for the disks of the state by their slots (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/vm/disk/disk.go,
// Read), and would never find it again.
func replugged(machine state.Machine, config pve.GuestConfig) []any {
	noted, _ := machine.Inputs["disks"].([]any)
	disks, found := slices.Clone(noted), false
	for i, one := range noted {
		disk, isDisk := one.(map[string]any)
		slot := hardware.SCSIDrive(i)
		if !isDisk || !isUnset(disk["interface"]) || config[slot] == "" {
			continue
		}
		known := maps.Clone(disk)
		known["interface"] = slot
		disks[i], found = known, true
	}
	if !found {
		return nil
	}
	return disks
}
