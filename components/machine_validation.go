package components

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

func (m Machine) validate() error {
	return errors.Join(
		require(m.Name != "", "Name", "give the machine a hostname"),
		require(m.Name == "" || len(validation.IsDNS1123Label(m.Name)) == 0, "Name", fmt.Sprintf("%q is not a DNS-1123 label: use a-z, 0-9 and -, at most %d characters", m.Name, validation.DNS1123LabelMaxLength)),
		require(m.Role == RoleControlPlane || m.Role == RoleWorker, "Role", fmt.Sprintf("%q is no role: use RoleControlPlane or RoleWorker", m.Role)),
		require(m.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, m.Host, "Host"),
		requireVMID(m.VMID),
		requireMAC(m.MAC, "MAC"),
		requireSome(m.Addresses, "Addresses"),
		m.requireOneOfEachFamily(),
		requireWithin(limits.Sockets, m.Sockets, "Sockets", "choose a number in that range"),
		requireWithin(limits.Cores, m.Cores, "Cores", "give the cores of each socket"),
		requireWithin(limits.MemoryMiB, m.MemoryMiB, "MemoryMiB", "give the memory in MiB"),
		require(m.DiskGiB >= hardware.TemplateDiskGiB, "DiskGiB", fmt.Sprintf("%d is smaller than the template's disk: give at least %d", m.DiskGiB, hardware.TemplateDiskGiB)),
		require(m.DiskStorage != "", "DiskStorage", "name the storage of its disk"),
		requireName(limits.Storage, m.DiskStorage, "DiskStorage"),
		validateTags(m.Tags),
		m.validateSize(),
		m.validateDataDisks(),
		m.validateNICs(),
		m.validateGPUs(),
	)
}

// validateSize checks what the machine has against what Talos needs. What is no size at all is reported elsewhere.
func (m Machine) validateSize() error {
	least := hardware.LeastSize(m.Role == RoleControlPlane)
	var problems []error
	for _, part := range []struct {
		argument, unit string
		got, least     int
	}{
		{"Cores", "cores in all sockets", m.Cores * m.Sockets, least.Cores},
		{"MemoryMiB", "MiB", m.MemoryMiB, least.MemoryMiB},
		{"DiskGiB", "GiB", m.DiskGiB, least.DiskGiB},
	} {
		problems = append(problems, require(part.got <= 0 || part.got >= part.least, part.argument,
			fmt.Sprintf("%d is too little for Talos on a %s: give at least %d %s", part.got, m.Role, part.least, part.unit)))
	}
	return errors.Join(problems...)
}

func validateTags(tags []string) error {
	var problems []error
	for i, tag := range tags {
		problems = append(problems, require(limits.Tag.Matches(tag), fmt.Sprintf("Tags[%d]", i), invalidName(limits.Tag, tag)))
	}
	return errors.Join(problems...)
}

func (m Machine) validateDataDisks() error {
	problems := []error{
		require(len(m.DataDisks) <= hardware.MaxDataDisks, "DataDisks", fmt.Sprintf("%d are more than a machine can have: give at most %d", len(m.DataDisks), hardware.MaxDataDisks)),
	}
	for i, disk := range m.DataDisks {
		at := fmt.Sprintf("DataDisks[%d]", i)
		same := func(other DataDisk) bool { return strings.EqualFold(other.Mount, disk.Mount) }
		first := slices.IndexFunc(m.DataDisks, same)
		problems = append(problems,
			requireWithin(limits.DiskGiB, disk.SizeGiB, at+".SizeGiB", "give the size in GiB"),
			require(disk.Storage != "", at+".Storage", "name the storage"),
			requireName(limits.Storage, disk.Storage, at+".Storage"),
			require(disk.Mount != "", at+".Mount", "name the volume"),
			require(disk.Mount == "" || machineconfig.ValidMount(disk.Mount), at+".Mount", fmt.Sprintf("%q is not the name of a volume: use %s", disk.Mount, machineconfig.MountRule)),
			require(disk.Mount == "" || first == i, at+".Mount", fmt.Sprintf("%q is used by DataDisks[%d] too: choose another", disk.Mount, first)))
	}
	return errors.Join(problems...)
}

func (m Machine) validateNICs() error {
	problems := []error{
		require(len(m.NICs) <= hardware.MaxNICs, "NICs", fmt.Sprintf("%d are more than a machine can have: give at most %d", len(m.NICs), hardware.MaxNICs)),
	}
	for i, nic := range m.NICs {
		at := fmt.Sprintf("NICs[%d]", i)
		problems = append(problems,
			requireMAC(nic.MAC, at+".MAC"),
			require(nic.Bridge != "", at+".Bridge", "name the bridge of Proxmox VE"),
			requireName(limits.Bridge, nic.Bridge, at+".Bridge"),
			requireVLAN(nic.VLAN, at+".VLAN"),
			requireMTU(nic.MTU, nic.Address.Addr().Is6(), at+".MTU"))
	}
	return errors.Join(problems...)
}

func (n NodeNetwork) validate() error {
	return errors.Join(
		requireSome(n.Subnets, "Subnets"),
		requireSome(n.Gateways, "Gateways"),
		n.validateGateways(),
		requireValid(n.Nameservers, "Nameservers"),
		require(n.Bridge != "", "Bridge", "name the bridge of Proxmox VE"),
		requireName(limits.Bridge, n.Bridge, "Bridge"),
		requireVLAN(n.VLAN, "VLAN"),
		requireMTU(n.MTU, slices.ContainsFunc(n.Subnets, isIPv6), "MTU"),
		require(n.Addressing == "" || n.Addressing == AddressingNoCloud || n.Addressing == AddressingDHCP, "Addressing", fmt.Sprintf("%q is unknown: use AddressingNoCloud or AddressingDHCP", n.Addressing)),
	)
}

func requireVMID(vmid int) error {
	return requireWithin(limits.VMID, vmid, "VMID", "choose a free number in that range")
}

// requireVLAN checks a VLAN tag; 0 means no tag.
func requireVLAN(vlan int, argument string) error {
	if vlan == 0 {
		return nil
	}
	return requireWithin(limits.VLAN, vlan, argument, "choose a tag in that range, or 0 for none")
}

// requireMTU checks the MTU of a card against the limits of Proxmox VE, and of the IP families on it.
func requireMTU(mtu int, ipv6 bool, argument string) error {
	remedy := fmt.Sprintf("choose %d unless the bridge has less", hardware.MTU)
	if err := requireWithin(limits.MTU, mtu, argument, remedy); err != nil {
		return err
	}
	return require(!ipv6 || mtu >= limits.IPv6MTU, argument, fmt.Sprintf("%d is too small for IPv6, which needs %d: %s", mtu, limits.IPv6MTU, remedy))
}

// requireMAC checks that the address is a unicast address: the lowest bit of its first byte is 0.
func requireMAC(mac net.HardwareAddr, argument string) error {
	if len(mac) != 6 || slices.Max(mac) == 0 {
		return require(false, argument, "give the 6 bytes of a hardware address")
	}
	return require(mac[0]&1 == 0, argument, fmt.Sprintf("%s is a multicast address: choose one whose first byte is even", mac))
}

// requireName checks the form of a name in Proxmox VE. An empty name is refused elsewhere.
func requireName(form limits.Name, name, argument string) error {
	return require(name == "" || form.Matches(name), argument, invalidName(form, name))
}

func invalidName(form limits.Name, name string) string {
	return fmt.Sprintf("%q is not valid in Proxmox VE (%s): choose another name", name, form.Words)
}

func requireWithin(r limits.Range, number int, argument, remedy string) error {
	words := fmt.Sprintf("between %d and %d", r.Min, r.Max)
	if r.Max == math.MaxInt {
		words = r.String()
	}
	return require(r.Contains(number), argument, fmt.Sprintf("%d is not %s: %s", number, words, remedy))
}

// require is one rule about one argument: what must hold, and what to do when it does not.
func require(holds bool, argument, remedy string) error {
	if holds {
		return nil
	}
	return fmt.Errorf("%s: %s", argument, remedy)
}
