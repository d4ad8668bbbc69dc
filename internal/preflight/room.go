package preflight

import (
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// ask is what is put on one storage of a host.
type ask struct {
	storage, content string
	sizeGiB          int
}

// asksOf a host are one for each use of each storage, in a fixed order. What exists already takes no more room.
func asksOf(inv *inventory.Inventory, found Snapshot, host string) []ask {
	c := inv.Cluster.Proxmox
	asks := []ask{{c.ISOStorage, "iso", 0}, {c.DiskStorage, "images", 0}}
	if _, there := found.guest(inv.Cluster.TemplateVMID(host)); !there {
		asks[0].sizeGiB, asks[1].sizeGiB = isoGiB, templateGiB
	}
	for _, node := range inv.Nodes.OnHost(host) {
		config := found.ownConfig(node)
		for _, disk := range disks(node) {
			missing := disk.sizeGiB - sizeGiB(config[disk.device])
			asks = append(asks, ask{disk.storage, "images", max(missing, 0)})
		}
	}
	return asks
}

// ownConfig is that of the VM that a node is already, else nothing.
func (found Snapshot) ownConfig(node inventory.Node) pve.GuestConfig {
	if guest, there := found.guest(node.VMID); !there || !isOurs(guest, node) {
		return nil
	}
	return found.Configs[node.VMID].Value
}

// sizeGiB is the size of a drive as its configuration has it, as in tank:vm-101-disk-0,size=64G.
func sizeGiB(drive string) int {
	for option := range strings.SplitSeq(drive, ",") {
		size, is := strings.CutPrefix(option, "size=")
		if !is || size == "" {
			continue
		}
		count, err := strconv.Atoi(size[:len(size)-1])
		switch unit := size[len(size)-1]; {
		case err != nil:
		case unit == 'G':
			return count
		case unit == 'T':
			return count << 10
		}
	}
	return 0
}
