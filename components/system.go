package components

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// System is what a virtual machine and a container that are no nodes of a cluster have in common.
type System struct {
	// Name in Proxmox VE and hostname. Required. A change is made in place, and reboots a container that runs.
	Name string
	// Host is the Proxmox VE node that it runs on. Required. A change migrates a virtual machine; it replaces a container.
	Host string
	// VMID is its number in Proxmox VE, 100 to 999999999. Required. A change replaces the system.
	VMID int
	// Cores that it has. Required. A change reboots it.
	Cores int
	// MemoryMiB is its memory in MiB. Required. A change reboots it.
	MemoryMiB int
	// DiskGiB is the size of its disk or root in GiB. Required. A change grows it while it runs; it cannot shrink.
	DiskGiB int
	// DiskStorage holds its disk. Required. A change moves the disk of a virtual machine; it replaces a container.
	DiskStorage string
	// NICs are its network cards. Required, at least one. A change reboots it; the addresses of a virtual machine are written once, at
	// its creation.
	NICs []SystemNIC
	// Nameservers answer its DNS queries. Default: those of the host. A change has the same effect as one of the addresses.
	Nameservers []netip.Addr
	// SearchDomain completes short names. Default: that of the host. A change has the same effect as one of the addresses.
	SearchDomain string
	// Keys are SSH keys of its user, in the form of authorized_keys. Default: none. Written once: a change is ignored.
	Keys []string
	// Startup is its place in the order at boot and shutdown of the host. Default: nil, none. A change is made in place.
	Startup *Startup
	// OffAtBoot keeps it off when its host boots. Default: false, it is started. A change is made in place; of a container it is written once,
	// since the provider does not change it (bpg/terraform-provider-proxmox v0.73.0, container.go, containerUpdate).
	OffAtBoot bool
	// Tags in Proxmox VE, sorted. Default: none. A change is made in place.
	Tags []string
	// Protect forbids its deletion, here and by the flag of Proxmox VE. Default: false. A change is made in place: to delete the system, set
	// it to false first.
	Protect bool
}

// SystemNIC is a network card of a system. A change reboots it; cloud-init has written the addresses of a virtual machine once.
type SystemNIC struct {
	// Bridge of Proxmox VE. Required.
	Bridge string
	// VLAN tag. Default: 0, untagged.
	VLAN int
	// MAC address. Required: without one, Proxmox VE would choose it, and the next preview would show a change.
	MAC net.HardwareAddr
	// Address with the length of its subnet. Default: the zero value, by DHCP.
	Address netip.Prefix
	// Gateway of the subnet. Default: the zero value, none.
	Gateway netip.Addr
}

// validate checks what both kinds have, with the most cores and cards that the kind can have.
func (s System) validate(cores limits.Range, cards int) error {
	problems := []error{
		require(len(validation.IsDNS1123Label(s.Name)) == 0, "Name", fmt.Sprintf("%q is not a DNS-1123 label: use a-z, 0-9 and -, at most %d characters", s.Name, validation.DNS1123LabelMaxLength)),
		require(s.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, s.Host, "Host"),
		requireVMID(s.VMID),
		requireWithin(cores, s.Cores, "Cores", "give the number of cores"),
		requireWithin(limits.MemoryMiB, s.MemoryMiB, "MemoryMiB", "give the memory in MiB"),
		requireWithin(limits.DiskGiB, s.DiskGiB, "DiskGiB", "give the size in GiB"),
		require(s.DiskStorage != "", "DiskStorage", "name the storage of its disk"),
		requireName(limits.Storage, s.DiskStorage, "DiskStorage"),
		require(len(s.NICs) > 0, "NICs", "give at least one"),
		require(len(s.NICs) <= cards, "NICs", fmt.Sprintf("%d are more than a system can have: give at most %d", len(s.NICs), cards)),
		validateTags(s.Tags),
	}
	for i, card := range s.NICs {
		problems = append(problems, card.validate(fmt.Sprintf("NICs[%d]", i)))
	}
	return errors.Join(problems...)
}

func (c SystemNIC) validate(at string) error {
	return errors.Join(
		require(c.Bridge != "", at+".Bridge", "name the bridge of Proxmox VE"),
		requireName(limits.Bridge, c.Bridge, at+".Bridge"),
		requireVLAN(c.VLAN, at+".VLAN"),
		requireMAC(c.MAC, at+".MAC"),
		require(!c.Gateway.IsValid() || c.Address.IsValid(), at+".Gateway", "a card with DHCP gets its gateway from there: leave it out"),
		require(!c.Gateway.IsValid() || !c.Address.IsValid() || c.Address.Contains(c.Gateway) || c.Gateway.IsLinkLocalUnicast(), at+".Gateway", fmt.Sprintf("%s is not in the subnet of %s: choose an address in it", c.Gateway, c.Address)),
	)
}

// address returns the address of a card as Proxmox VE takes it, and its gateway; "" for none.
func (c SystemNIC) address() (address, gateway string) {
	if !c.Address.IsValid() {
		return "dhcp", ""
	}
	if c.Gateway.IsValid() {
		gateway = c.Gateway.String()
	}
	return c.Address.String(), gateway
}

// isIPv6 reports whether the address of a card is IPv6.
func (c SystemNIC) isIPv6() bool { return c.Address.IsValid() && c.Address.Addr().Is6() }

// startupOf returns order and delays; a delay of 0 at shutdown would cut the power at once.
func startupOf(s *Startup) (order, up, down int) {
	return s.Order, s.UpDelaySeconds, cmp.Or(s.DownDelaySeconds, hostsOwnDelay)
}
