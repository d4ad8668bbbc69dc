package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// checkMove checks a machine that is on another host than its node. Either the inventory was edited, and a run moves the machine, or it was
// migrated by hand (F23).
func checkMove(s *collector, node inventory.Node, guest pve.Guest, found Snapshot) {
	stands := fmt.Sprintf("VM %d (%s) stands on %s, not on %s", node.VMID, node.Name, guest.Node, node.Host)
	back := fmt.Sprintf("set host: %s for it in nodes.yaml", guest.Node)
	config := found.Configs[guest.VMID].Value
	for _, key := range slices.Sorted(maps.Keys(config)) {
		drive := config[key]
		switch storage, _, _ := strings.Cut(drive, ":"); {
		case numbered(key, "hostpci"):
			s.fail("vmid", back+", or take it out, run up, and put it in again", "%s, and cannot be moved: it has a device of its host (%s)", stands, key)
			return
		case isISO(drive) && found.isLocal(storage):
			s.fail("vmid", fmt.Sprintf("%s, or take the ISO out of its drive, as root on %s: `qm set %d --%s none,media=cdrom`", back, guest.Node, guest.VMID, key),
				"%s, and cannot be moved: the ISO in its drive is on storage %s, which is not shared", stands, storage)
			return
		}
	}
	s.warn("vmid", back+" and run up, or leave it to the run", "%s: a run would move it", stands)
}

// isISO reports whether a drive contains an ISO. Proxmox VE migrates no machine with a local ISO; it recreates the cloud-init drive
// on the target (qemu-server, QemuMigrate.pm, scan_local_volumes).
func isISO(drive string) bool {
	return strings.Contains(drive, "media=cdrom") && strings.Contains(drive, ":iso/")
}

// isLocal reports whether a storage is known not to be shared. This is the same for all hosts (storage.cfg).
func (found Snapshot) isLocal(name string) bool {
	for _, host := range found.Hosts {
		if storage, there := named(host.Storages.Value, name); there {
			return !bool(storage.Shared)
		}
	}
	return false
}
