package systems

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// network checks what all cards have.
func (c *checker) network() {
	n := c.inv.File.Network
	c.name(limits.Bridge, n.Bridge, key("network", "bridge"))
	c.name(limits.Machine, n.SearchDomain, key("network", "searchDomain"))
	c.nameservers(n.Nameservers, key("network", "nameservers"))
}

// cards checks the network cards of all systems: an address and a MAC address belong to one card.
func (c *checker) cards() {
	cards := nicChecker{checker: c, addresses: map[netip.Addr]string{}, macs: map[inventory.MAC]ownerOfMAC{}}
	if gateway := c.inv.File.Network.Gateway; gateway.IsValid() {
		cards.addresses[gateway] = "the gateway"
	}
	for _, s := range c.inv.systems() {
		routes := map[bool]*strictyaml.Path{}
		for i, card := range s.NICs {
			at := s.at.Key("networks").Index(i)
			c.ownName(limits.Bridge, card.Bridge, at.Key("bridge"))
			if !s.appliance && !c.given(at.Key("address")) {
				c.report(at.Key("address"), fault{What: "is missing", Rule: "it has no default", Do: "add it"})
			}
			cards.address(card, at)
			cards.mac(card.MAC, ownerOfMAC{at, s.VMID})
			cards.gateway(card, routes, at.Key("gateway"))
		}
		if c.given(s.at.Key("nameservers")) {
			c.nameservers(s.Nameservers, s.at.Key("nameservers"))
		}
		c.ownName(limits.Machine, s.SearchDomain, s.at.Key("searchDomain"))
	}
}

// nicChecker checks the cards of all systems.
type nicChecker struct {
	*checker

	addresses map[netip.Addr]string
	macs      map[inventory.MAC]ownerOfMAC
}

// ownerOfMAC is the place of a card, and the VMID that its MAC address is derived from.
type ownerOfMAC struct {
	at   *strictyaml.Path
	vmid int
}

func (c nicChecker) address(card NIC, at *strictyaml.Path) {
	if !card.Address.IsStatic() {
		return
	}
	address := card.Address.Addr()
	problem := fault{Got: card.Address.String(), Do: "choose a free address"}
	owner := c.addresses[address]
	switch {
	case address.IsLoopback() || address.IsMulticast() || address.IsUnspecified():
		problem.What = "is no address of a system"
	case address == card.Address.Masked().Addr() && card.Address.Bits() < address.BitLen()-1:
		problem.What, problem.Rule = "is the address of the subnet itself", "a system has one in it"
	case owner != "":
		problem.What, problem.Rule = "is the address of "+owner+" too", "addresses are unique"
	default:
		c.addresses[address] = at.String()
		return
	}
	c.report(at.Key("address"), problem)
}

// mac checks a MAC address. Derived ones differ in 24 bits, so two can be equal; then one must be given.
func (c nicChecker) mac(mac inventory.MAC, owner ownerOfMAC) {
	if mac.IsZero() {
		return
	}
	first, twice := c.macs[mac]
	at, problem := owner.at.Key("mac"), fault{Rule: "MAC addresses are unique", Got: mac.String(), Do: inventory.AnotherMAC}
	switch {
	case !twice:
		c.macs[mac] = owner
		return
	case c.given(at):
		problem.What = "is the MAC address of " + first.at.String() + " too"
	case c.given(first.at.Key("mac")):
		at, problem.What = first.at.Key("mac"), "is the one that is derived for "+owner.at.String()
	case first.vmid == owner.vmid: // the VMID is the problem, which is reported
		return
	default:
		problem.What, problem.Do = "would be derived as that of "+first.at.String()+" is", "give a mac here"
	}
	c.report(at, problem)
}

// gateway checks the default route of a card: it is in the subnet of its address, and a system has one for each IP family.
func (c nicChecker) gateway(card NIC, routes map[bool]*strictyaml.Path, at *strictyaml.Path) {
	if !card.Gateway.IsValid() || card.Address == (Address{}) { // a missing address is reported, and so is a gateway where none belongs
		return
	}
	first := routes[card.Gateway.Is6()]
	routes[card.Gateway.Is6()] = at
	problem := fault{Got: card.Gateway.String()}
	switch {
	case card.Address.DHCP:
		problem.What, problem.Rule, problem.Do = "is given although the address comes by DHCP", "its gateway comes from there, too", "remove the key"
	case first != nil:
		problem.What, problem.Rule, problem.Do = "is a second default route", "the first is "+first.String(), "remove one of the two"
	case !card.Address.Contains(card.Gateway) && !card.Gateway.IsLinkLocalUnicast():
		problem.What, problem.Rule, problem.Do = "lies outside the subnet of its card", "a gateway is in "+card.Address.Masked().String(), "correct one of the two"
	case card.Gateway == card.Address.Addr():
		problem.What, problem.Do = "is the system's own address", "name the router"
	default:
		return
	}
	c.report(at, problem)
}

func (c *checker) nameservers(servers []netip.Addr, at *strictyaml.Path) {
	seen := map[netip.Addr]bool{}
	for i, server := range servers {
		switch {
		case !server.IsValid():
			continue
		case server.IsUnspecified() || server.IsMulticast():
			c.report(at.Index(i), fault{What: "is no address of a server", Got: server.String(), Do: "name a server"})
		case seen[server]:
			c.report(at.Index(i), fault{What: "is given twice", Got: server.String(), Do: "remove one of them"})
		}
		seen[server] = true
	}
}

// leastRootGiB is the size that the root of a container begins with (docs/decisions/0100).
const leastRootGiB = 4

// disks checks sizes and storages of disks.
func (c *checker) disks() {
	for i, container := range c.inv.File.Containers {
		at := key("containers").Index(i)
		if container.DiskGiB != 0 && container.DiskGiB < leastRootGiB {
			c.report(at.Key("diskGiB"), fault{What: "is too small", Rule: fmt.Sprintf("the root of a container has at least %d", leastRootGiB), Got: strconv.Itoa(container.DiskGiB), Do: "choose a larger one"})
		}
		if container.SwapMiB < limits.SwapMiB.Min {
			c.report(at.Key("swapMiB"), fault{What: "is out of range", Rule: limits.SwapMiB.String(), Got: strconv.Itoa(container.SwapMiB), Do: "choose one within, or remove the key"})
		}
	}
	for i, machine := range c.inv.File.VirtualMachines {
		for d, disk := range machine.DataDisks {
			at := key("virtualMachines").Index(i).Key("dataDisks").Index(d).Key("storage")
			c.ownName(limits.Storage, disk.Storage, at)
		}
	}
}
