package preflight

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// checkAddresses compares the inventory's addresses with the addresses of other machines and containers. Proxmox VE does not know
// addresses that are configured elsewhere.
func checkAddresses(s *collector, inv *inventory.Inventory, found Snapshot) {
	if found.Guests.Err != nil {
		return // reported by checkVMIDs
	}
	mark := len(s.checks)
	macs, addresses := ownMACs(inv), ownAddresses(inv)
	var unread []string
	for _, guest := range strangers(inv, found) {
		config, read := found.Configs[guest.VMID]
		if !read || config.Err != nil {
			unread = append(unread, fmt.Sprint(guest.VMID))
			continue
		}
		theirMACs, theirAddresses := networkOf(config.Value)
		for _, own := range macs {
			if slices.Contains(theirMACs, own.mac) && !found.isFormer(guest, own.owner) {
				s.fail("mac", "set another mac in nodes.yaml, or remove it to have one derived", "MAC %s of %s is that of %s too", own.mac, own.owner, Described(guest))
			}
		}
		for _, own := range addresses {
			switch {
			case !slices.Contains(theirAddresses, own.address):
			case found.isFormer(guest, own.owner):
				s.former(own, guest)
			default:
				s.address(own, guest, found)
			}
		}
	}
	if len(unread) > 0 {
		s.warn("address", "give the token VM.Audit on /vms; `em-infra role` prints how", "the addresses of VM %s are not known: their configurations cannot be read", listed(unread))
	}
	if s.sound(mark) {
		s.ok("address", "%s and %s free in the configurations of %s", counted(len(addresses), "address"), counted(len(macs), "MAC"), counted(len(strangers(inv, found)), "other guest"))
	}
}

// isFormer reports whether a guest is a node's machine with another VMID.
func (found Snapshot) isFormer(guest pve.Guest, owner string) bool {
	return guest.Type == qemu && found.isNamed(guest, owner) && found.belongs(guest)
}

// former adds a finding about a guest that is a node's machine with another VMID, and that the state does not know: it would run beside the
// new one with the same address.
func (s *collector) former(own ownedAddress, guest pve.Guest) {
	takenOver := fmt.Sprintf("set vmid: %d for %s in nodes.yaml, then up takes it over", guest.VMID, own.owner)
	if guest.Status == "running" {
		s.fail("address", takenOver, "%s has another vmid than %s, which is its machine, runs, and is not in the state", own.owner, Described(guest))
		return
	}
	s.warn("address", takenOver+", or delete it", "%s has another vmid than %s, which is its machine and is not in the state", own.owner, Described(guest))
}

// address adds a finding about a duplicate address. It is only a warning while the other guest is off.
func (s *collector) address(own ownedAddress, guest pve.Guest, found Snapshot) {
	whose, remedy := "", ""
	if found.isNamed(guest, own.owner) {
		whose, remedy = found.stranger(guest, true)
	}
	remedy += "choose another address in the inventory, or for the other one"
	if guest.Status == "running" {
		s.fail("address", remedy, "%s of %s is the address of %s too%s", own.address, own.owner, Described(guest), whose)
		return
	}
	s.warn("address", remedy, "%s of %s is the address of %s too, which is off", own.address, own.owner, Described(guest))
}

type ownedAddress struct {
	address netip.Addr
	owner   string
}

// ownAddresses returns the addresses of the nodes' cards and the virtual address of the Kubernetes API.
func ownAddresses(inv *inventory.Inventory) []ownedAddress {
	var all []ownedAddress
	if vip := inv.Cluster.Kubernetes.Endpoint.VIP; vip.IsValid() {
		all = append(all, ownedAddress{vip, "kubernetes.endpoint.vip"})
	}
	for _, node := range inv.Nodes {
		for _, prefix := range node.Prefixes(inv.Cluster) {
			all = append(all, ownedAddress{prefix.Addr(), node.Name})
		}
		for _, nic := range node.NICs {
			if nic.Address.IsValid() {
				all = append(all, ownedAddress{nic.Address.Addr(), node.Name})
			}
		}
	}
	return all
}

type ownedMAC struct{ mac, owner string }

func ownMACs(inv *inventory.Inventory) []ownedMAC {
	var all []ownedMAC
	for _, node := range inv.Nodes {
		all = append(all, ownedMAC{node.MAC.String(), node.Name})
		for _, nic := range node.NICs {
			all = append(all, ownedMAC{nic.MAC.String(), node.Name})
		}
	}
	return all
}
