package preflight

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
)

// checkVMIDs looks for VMIDs that other guests use: nothing reserves a VMID between the check and the creation (F20), and a machine that was
// migrated by hand would be moved back or replaced (F23).
func checkVMIDs(s *collector, inv *inventory.Inventory, found Snapshot) {
	if found.Guests.Err != nil {
		s.unread("vmid", "the list of VMs", found.Guests.Err)
		return
	}
	mark := len(s.checks)
	ours := 0
	for _, node := range inv.Nodes {
		guest, there := found.guest(node.VMID)
		switch {
		case !there:
		case isBeingMade(guest, found.Configs[node.VMID]):
			s.warn("vmid", beingMade, "VM %d on %s is being made; it is taken for %s, which a run before may have begun", node.VMID, guest.Node, node.Name)
		case !found.isOurs(guest, node):
			whose, remedy := found.stranger(guest, found.looksLike(guest, node))
			s.fail("vmid", fmt.Sprintf("%sgive %s another vmid in nodes.yaml", remedy, node.Name), "VMID %d of %s is taken by %s%s", node.VMID, node.Name, Described(guest), whose)
		case !found.isNamed(guest, node.Name):
			s.warn("vmid", "nothing, or rename it back yourself", "VM %d on %s was renamed to %s by hand: it has the MAC address of %s, and a run names it so again", node.VMID, guest.Node, guest.Name, node.Name)
		case guest.Node != node.Host:
			checkMove(s, node, guest, found)
		default:
			ours++
		}
	}
	if s.sound(mark) {
		s.ok("vmid", "%s: %d free, %d ours", counted(len(inv.Nodes), "VMID"), len(inv.Nodes)-ours, ours)
	}
}

const beingMade = "if no run of this stack was cut off, see its task in Proxmox VE, and choose another VMID"
