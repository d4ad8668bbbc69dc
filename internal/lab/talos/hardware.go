package talos

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Hardware is a virtual machine as the guest finds it at its start.
type Hardware struct {
	// VMID is the machine's number on its host; it identifies the machine in the fleet.
	VMID int `json:"vmid"`
	// Name of the VM, which Talos does not see.
	Name string `json:"name"`
	// UUID of the firmware, the UUID in smbios1 of the VM; "" for none.
	UUID string `json:"uuid,omitempty"`
	// CPUs is the number of virtual CPUs.
	CPUs int `json:"cpus"`
	// MemoryMiB is the memory in MiB.
	MemoryMiB int `json:"memoryMiB"`
	// Disks in the order of their slots.
	Disks []Disk `json:"disks"`
	// SCSI is the controller of the SCSI disks; the empty one is SCSIVirtIOSingle.
	SCSI SCSIController `json:"scsi,omitempty"`
	// BootOrder are the drives that the firmware tries, such as scsi0 and ide0; empty for all disks and then the ISO.
	BootOrder []string `json:"bootOrder,omitempty"`
	// NICs in the order of their slots.
	NICs []NIC `json:"nics"`
	// CloudInit is the configuration drive.
	CloudInit CloudInit `json:"cloudInit"`
	// Leases are the addresses that a DHCP server has reserved for the network cards. They count only without addresses
	// on the configuration drive, since Talos asks for a lease only then.
	Leases []netip.Prefix `json:"leases,omitempty"`
	// ISO is the volume in the CD-ROM drive, "" for none.
	ISO string `json:"iso"`
	// ISODrive is the drive of the ISO, such as ide0.
	ISODrive string `json:"isoDrive,omitempty"`
	// PCI are the devices that are passed through.
	PCI []PCIDevice `json:"pci"`
	// AgentPort reports whether the machine has a port for a guest agent.
	AgentPort bool `json:"agentPort,omitempty"`
}

// PCIDevice is a passed-through device. Its IDs are hexadecimal numbers that begin with 0x.
type PCIDevice struct {
	// Address on the host.
	Address string `json:"address"`
	// Class is the PCI class, such as 0x030000 for a display controller.
	Class  string `json:"class"`
	Vendor string `json:"vendor"`
	Device string `json:"device"`
}

// NIC is a network card.
type NIC struct {
	MAC net.HardwareAddr `json:"mac"`
	// Seeded are the addresses of the configuration drive that are for this card. Addresses for no card are on the first
	// one.
	Seeded []netip.Prefix `json:"seeded,omitempty"`
}

// CloudInit is the content of the configuration drive, which Talos reads on its nocloud platform.
type CloudInit struct {
	// Addresses of the network cards, with their networks.
	Addresses   []netip.Prefix `json:"addresses"`
	Gateway     netip.Addr     `json:"gateway"`
	Nameservers []netip.Addr   `json:"nameservers"`
	Hostname    string         `json:"hostname"`
}

func (h Hardware) clone() Hardware {
	h.Disks = slices.Clone(h.Disks)
	h.BootOrder = slices.Clone(h.BootOrder)
	h.NICs = slices.Clone(h.NICs)
	h.PCI = slices.Clone(h.PCI)
	h.Leases = slices.Clone(h.Leases)
	h.CloudInit.Addresses = slices.Clone(h.CloudInit.Addresses)
	h.CloudInit.Nameservers = slices.Clone(h.CloudInit.Nameservers)

	return h
}

// validate returns everything that prevents the emulation of the machine.
func (h Hardware) validate() error {
	var errs []error

	if h.VMID <= 0 {
		errs = append(errs, fmt.Errorf("VMID %d is not positive", h.VMID))
	}

	for i, disk := range h.Disks {
		if disk.ID == "" {
			errs = append(errs, fmt.Errorf("disk %d has no identity", i))
		}
	}

	if elsewhere := h.otherAddresses(); len(h.addresses()) == 0 && len(elsewhere) > 0 {
		errs = append(errs, fmt.Errorf("address %s is outside 127.0.0.0/8, where nobody listens: rebase the node network onto loopback", elsewhere[0]))
	}

	return errors.Join(errs...)
}

// assigned returns the addresses with which the machine boots.
func (h Hardware) assigned() []netip.Prefix {
	if len(h.CloudInit.Addresses) > 0 {
		return slices.Clone(h.CloudInit.Addresses)
	}

	return slices.Clone(h.Leases)
}

// addresses returns the addresses on which the emulation listens: IPv4 on loopback.
func (h Hardware) addresses() []netip.Prefix {
	return slices.DeleteFunc(h.assigned(), func(p netip.Prefix) bool { return !p.Addr().Is4() || !p.Addr().IsLoopback() })
}

// otherAddresses returns the remaining IPv4 addresses, e.g. on a storage network. A node only reports them.
func (h Hardware) otherAddresses() []netip.Prefix {
	return slices.DeleteFunc(h.assigned(), func(p netip.Prefix) bool { return !p.Addr().Is4() || p.Addr().IsLoopback() })
}
