package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

const qemu = "qemu" // a virtual machine among the guests; the others are containers

// guest with a VMID, if there is one.
func (found Snapshot) guest(vmid int) (pve.Guest, bool) {
	at := slices.IndexFunc(found.Guests.Value, func(guest pve.Guest) bool { return guest.VMID == vmid })
	if at < 0 {
		return pve.Guest{}, false
	}
	return found.Guests.Value[at], true
}

// isOurs reports whether a guest with a node's VMID is that node: a machine of this stack that looks like it.
func (found Snapshot) isOurs(guest pve.Guest, node inventory.Node) bool {
	return found.belongs(guest) && found.looksLike(guest, node)
}

// looksLike reports whether a guest with a node's VMID has the looks of that node: it is a machine of that name or of the one
// that the node had, or one that somebody has renamed, whose card has the node's MAC address, which is made from the cluster's
// name and the VMID unless it is given.
func (found Snapshot) looksLike(guest pve.Guest, node inventory.Node) bool {
	if guest.Type != qemu || bool(guest.Template) {
		return false
	}
	macs, _ := networkOf(found.Configs[node.VMID].Value)
	return found.isNamed(guest, node.Name) || slices.Contains(macs, node.MAC.String())
}

// isNamed reports whether a guest has the name of a node, now or before. The state puts the cluster's name before it where it
// does not begin so.
func (found Snapshot) isNamed(guest pve.Guest, node string) bool {
	former, renamed := found.FormerNames[node]
	return guest.Name == node || renamed && (guest.Name == former || strings.HasSuffix(former, "-"+guest.Name))
}

// isBeingMade reports whether a task has only begun to make a guest: it has no name, for which Proxmox VE says "VM 101", and
// a lock, or nothing in it if somebody has taken the lock away (qemu-server QemuConfig.pm, create_and_lock_config;
// QemuServer.pm, vmstatus). Whose it is shows when it is made; recovery deletes what will never be.
func isBeingMade(guest pve.Guest, config Reading[pve.GuestConfig]) bool {
	nameless := guest.Name == "" || guest.Name == fmt.Sprintf("VM %d", guest.VMID)
	locked := guest.Lock == "clone" || guest.Lock == "create"
	return nameless && guest.Type == qemu && (locked || len(config.Value) > 0 && config.Value.IsEmpty())
}

// strangers are the guests that are neither nodes nor templates of the inventory, in the order of their VMIDs.
func strangers(inv *inventory.Inventory, found Snapshot) []pve.Guest {
	own := vmids(inv)
	all := slices.DeleteFunc(slices.Clone(found.Guests.Value), func(guest pve.Guest) bool { return slices.Contains(own, guest.VMID) })
	slices.SortFunc(all, func(a, b pve.Guest) int { return a.VMID - b.VMID })
	return all
}

// described is a guest as its owner knows it.
func described(guest pve.Guest) string {
	kind := "VM"
	switch {
	case guest.Type != qemu:
		kind = "container"
	case bool(guest.Template):
		kind = "template"
	}
	return fmt.Sprintf("%s %d (%s on %s)", kind, guest.VMID, guest.Name, guest.Node)
}

// networkOf a guest are the Ethernet and IP addresses of its cards, as far as its configuration tells: those of a container's
// card stand with the card, those of a machine's are what its cloud-init drive gives it.
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

// numbered reports whether a key is a word with a number behind it, such as net0.
func numbered(key, word string) bool {
	digits, is := strings.CutPrefix(key, word)
	return is && digits != "" && strings.Trim(digits, "0123456789") == ""
}
