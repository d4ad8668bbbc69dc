package machineupdate

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// wasUnplugged is why a disk that was unplugged is not put back by an update.
const wasUnplugged = "was unplugged by hand: the provider would put an empty one in its place"

// CheckPlugged returns an error for an update of a machine if one of its disks was unplugged by hand. The error states what to do.
func CheckPlugged(before, after resource.PropertyMap) error {
	was, wanted := before.Mappable(), after.Mappable()
	for i := range propertymap.List(wanted, "disks") {
		disk := fmt.Sprintf("disks[%d]", i)
		if isUnplugged(disk, was, wanted) {
			slot := propertymap.Text(wanted, disk+".interface")
			return fmt.Errorf("disk %s %s: plug %s of VM %v in again, which Proxmox VE shows as an unused disk, then run up again; the machine was not touched",
				slot, wasUnplugged, slot, propertymap.At(wanted, "vmId"))
		}
	}
	return nil
}

// isUnplugged reports whether a disk of the state is in no slot of the machine. The provider reads such a disk as one without values,
// and would create an empty disk in its place (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/vm/disk/disk.go, Read).
func isUnplugged(disk string, was, wanted map[string]any) bool {
	before, existed := propertymap.At(was, disk).(map[string]any)
	return existed && propertymap.Text(before, "interface") == "" && before["size"] == nil && propertymap.Text(wanted, disk+".interface") != ""
}
