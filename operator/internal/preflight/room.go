package preflight

import (
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// ask is a demand on one storage of a host.
type ask struct {
	storage, content string
	sizeGiB          int
	// shared reports whether the hosts must share the storage.
	shared bool
}

// asksOf returns the demands on the storages of a host, in a fixed order. A disk that is there needs no more space.
func asksOf(inv *inventory.Inventory, found Snapshot, host string) []ask {
	asks := templateAsks(inv, found, host)
	for _, node := range inv.Nodes {
		switch host {
		case node.Host:
			asks = append(asks, nodeAsks(inv, found, node)...)
		case inv.Cluster.TemplateHost(node.Host):
			// The clone is created on the template's host, on the same storage (qemu-server, API2/Qemu.pm, clone_vm).
			asks = append(asks, ask{storage: node.DiskStorage, content: "images", shared: true})
		}
	}
	return asks
}

// templateAsks returns the demands of the ISO, from which every host's machines boot, and of the template's disk.
func templateAsks(inv *inventory.Inventory, found Snapshot, host string) []ask {
	c := inv.Cluster.Proxmox
	iso := ask{storage: c.ISOStorage, content: "iso", shared: c.Template.Shared}
	disk := ask{storage: c.DiskStorage, content: "images", shared: c.Template.Shared}
	if _, there := found.guest(inv.Cluster.TemplateVMID(host)); !there && slices.Contains(inv.TemplateHosts(), host) {
		iso.sizeGiB, disk.sizeGiB = hardware.ISOGiB, hardware.TemplateDiskGiB
	}
	return []ask{iso, disk}
}

// nodeAsks returns the demands of a node's disks. A disk that is elsewhere is copied as a whole: its provider stops the machine before
// that, and leaves it off if there is no room.
func nodeAsks(inv *inventory.Inventory, found Snapshot, node inventory.Node) []ask {
	config := found.ownConfig(node)
	var asks []ask
	for i, disk := range disks(node) {
		missing := disk.sizeGiB
		if drive := config[disk.device]; found.holds(node, disk.storage, drive) {
			missing -= sizeGiB(drive)
		}
		cloned := i == 0 && inv.Cluster.TemplateHost(node.Host) != node.Host
		asks = append(asks, ask{storage: disk.storage, content: "images", sizeGiB: max(missing, 0), shared: cloned})
	}
	return asks
}

// ownConfig returns the configuration of the VM that is this node, or nil.
func (found Snapshot) ownConfig(node inventory.Node) pve.GuestConfig {
	if guest, there := found.guest(node.VMID); !there || !found.isOurs(guest, node) {
		return nil
	}
	return found.Configs[node.VMID].Value
}

// holds reports whether a drive of a node's machine is where its disk is to be: on that storage and, unless the hosts share it, on the
// node's host.
func (found Snapshot) holds(node inventory.Node, storage, drive string) bool {
	on, _, _ := strings.Cut(drive, ":")
	guest, there := found.guest(node.VMID)
	if !there || on != storage {
		return false
	}
	known, _ := named(found.Hosts[node.Host].Storages.Value, storage)
	return bool(known.Shared) || guest.Node == node.Host
}

// sizeGiB returns the size in a drive's configuration, as in tank:vm-101-disk-0,size=64G.
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
		case unit == 'M': // as that of Ubuntu's images; rounded up
			return (count + 1<<10 - 1) >> 10
		}
	}
	return 0
}
