package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

const qemu = "qemu" // type of a virtual machine among the guests; the others are containers

// guest returns the guest with a VMID, if there is one.
func (found Snapshot) guest(vmid int) (pve.Guest, bool) {
	at := slices.IndexFunc(found.Guests.Value, func(guest pve.Guest) bool { return guest.VMID == vmid })
	if at < 0 {
		return pve.Guest{}, false
	}
	return found.Guests.Value[at], true
}

// isOurs reports whether a guest with a node's VMID is that node: it is a machine of this stack and looks like the node.
func (found Snapshot) isOurs(guest pve.Guest, node inventory.Node) bool {
	return found.belongs(guest) && found.looksLike(guest, node)
}

// looksLike reports whether a guest with a node's VMID looks like that node: it is a machine with the node's present or former name, or with the
// node's MAC address if it was renamed on the host. The MAC address is derived from the cluster's name and the VMID unless the inventory sets it.
func (found Snapshot) looksLike(guest pve.Guest, node inventory.Node) bool {
	if guest.Type != qemu || bool(guest.Template) {
		return false
	}
	macs, _ := networkOf(found.Configs[node.VMID].Value)
	return found.isNamed(guest, node.Name) || slices.Contains(macs, node.MAC.String())
}

// isNamed reports whether a guest has a node's present or former name. In the state, the cluster's name may precede the former name.
func (found Snapshot) isNamed(guest pve.Guest, node string) bool {
	former, renamed := found.FormerNames[node]
	return guest.Name == node || renamed && (guest.Name == former || strings.HasSuffix(former, "-"+guest.Name))
}

// isBeingMade reports whether a task has only begun to create a guest: it has no name, which Proxmox VE shows as "VM 101", and it has a lock, or is
// empty after a user has removed the lock (qemu-server QemuConfig.pm, create_and_lock_config; QemuServer.pm, vmstatus). Its owner is known only
// after its creation; recovery deletes incomplete machines.
func isBeingMade(guest pve.Guest, config Reading[pve.GuestConfig]) bool {
	return guest.Type == qemu && isNameless(guest, config)
}

// isNameless is [isBeingMade] for a guest of any type: a container without a name is shown as "CT211" (pve-container LXC.pm, vmstatus).
func isNameless(guest pve.Guest, config Reading[pve.GuestConfig]) bool {
	nameless := guest.Name == "" || guest.Name == fmt.Sprintf("VM %d", guest.VMID) || guest.Name == fmt.Sprintf("CT%d", guest.VMID)
	locked := guest.Lock == "clone" || guest.Lock == "create"
	return nameless && (locked || len(config.Value) > 0 && config.Value.IsEmpty())
}

// strangers returns the guests that are neither nodes nor templates of the inventory, sorted by VMID. A node's machine with another VMID is no
// stranger if the state knows it: a run deletes it before it creates the next one.
func strangers(inv *inventory.Inventory, found Snapshot) []pve.Guest {
	own := vmids(inv)
	all := slices.DeleteFunc(slices.Clone(found.Guests.Value), func(guest pve.Guest) bool {
		isReplaced := found.Knows[guest.VMID] && guest.Type == qemu &&
			slices.ContainsFunc(inv.Nodes, func(node inventory.Node) bool { return found.isNamed(guest, node.Name) })
		return slices.Contains(own, guest.VMID) || isReplaced
	})
	slices.SortFunc(all, func(a, b pve.Guest) int { return a.VMID - b.VMID })
	return all
}

// Described returns a description of a guest for messages.
func Described(guest pve.Guest) string {
	kind := "VM"
	switch {
	case guest.Type != qemu:
		kind = "container"
	case bool(guest.Template):
		kind = "template"
	}
	return fmt.Sprintf("%s %d (%s on %s)", kind, guest.VMID, guest.Name, guest.Node)
}

// networkOf returns the MAC and IP addresses in a guest's configuration. A container has its IP addresses at its network card, a
// machine at its cloud-init drive.
func networkOf(config pve.GuestConfig) (macs []string, addresses []netip.Addr) {
	for key, value := range config {
		isCard := numbered(key, "net")
		if !isCard && !numbered(key, "ipconfig") {
			continue
		}
		for option := range strings.SplitSeq(value, ",") {
			name, content, _ := strings.Cut(option, "=")
			switch {
			case name == "ip" || name == "ip6":
				if prefix, err := netip.ParsePrefix(content); err == nil {
					addresses = append(addresses, prefix.Addr())
				}
			case isCard && strings.Count(content, ":") == 5:
				macs = append(macs, strings.ToUpper(content))
			}
		}
	}
	return macs, addresses
}

// numbered reports whether a key is a word followed by a number, such as net0.
func numbered(key, word string) bool {
	digits, is := strings.CutPrefix(key, word)
	return is && digits != "" && strings.Trim(digits, "0123456789") == ""
}
