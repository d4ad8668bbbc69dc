package talos

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Hardware is a virtual machine as the guest finds it when it starts.
type Hardware struct {
	// VMID is the machine's number on its host; it identifies the machine in the fleet.
	VMID int `json:"vmid"`
	// Name of the VM, which Talos does not see.
	Name string `json:"name"`
	// CPUs is the number of virtual CPUs.
	CPUs int `json:"cpus"`
	// MemoryMiB is the memory in MiB.
	MemoryMiB int `json:"memoryMiB"`
	// Disks in the order of their slots.
	Disks []Disk `json:"disks"`
	// NICs in the order of their slots.
	NICs []NIC `json:"nics"`
	// CloudInit is the configuration drive.
	CloudInit CloudInit `json:"cloudInit"`
	// Leases are the addresses that a DHCP server has reserved for the network cards. They count only without addresses
	// on the configuration drive, since Talos asks for a lease only then.
	Leases []netip.Prefix `json:"leases,omitempty"`
	// ISO is the volume in the CD-ROM drive, "" for none.
	ISO string `json:"iso"`
	// PCI are the devices that are passed through.
	PCI []PCIDevice `json:"pci"`
}

// PCIDevice is a device that is passed through, with its IDs as hexadecimal numbers that begin with 0x.
type PCIDevice struct {
	// Address on the host.
	Address string `json:"address"`
	// Class is the PCI class, such as 0x030000 for a display controller.
	Class  string `json:"class"`
	Vendor string `json:"vendor"`
	Device string `json:"device"`
}

// Bus is the kind of controller that a disk hangs on. It decides the name under which Linux knows the disk.
type Bus string

// Buses of Proxmox VE; the empty Bus is SCSI.
const (
	BusSCSI   Bus = "scsi"
	BusVirtIO Bus = "virtio"
	BusSATA   Bus = "sata"
	BusIDE    Bus = "ide"
)

// Disk is a virtual disk. Its contents belong to its ID: a disk with another ID is empty.
type Disk struct {
	ID    string `json:"id"`
	Bus   Bus    `json:"bus"`
	Bytes uint64 `json:"bytes"`
}

// NIC is a network card.
type NIC struct {
	MAC net.HardwareAddr `json:"mac"`
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
	h.NICs = slices.Clone(h.NICs)
	h.PCI = slices.Clone(h.PCI)
	h.Leases = slices.Clone(h.Leases)
	h.CloudInit.Addresses = slices.Clone(h.CloudInit.Addresses)
	h.CloudInit.Nameservers = slices.Clone(h.CloudInit.Nameservers)

	return h
}

// validate names everything that keeps the machine from being emulated.
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

// device is a disk under the name that Linux gives it.
type device struct {
	Disk
	name string // for example sda
}

func (d device) path() string { return "/dev/" + d.name }

// devices names the disks as Linux does: sd for everything that speaks SCSI, vd for virtio, letters in slot order.
func (h Hardware) devices() []device {
	devices := make([]device, 0, len(h.Disks))
	letters := map[string]byte{"sd": 'a', "vd": 'a'}

	for _, disk := range h.Disks {
		prefix := "sd"
		if disk.Bus == BusVirtIO {
			prefix = "vd"
		}

		devices = append(devices, device{Disk: disk, name: prefix + string(letters[prefix])})
		letters[prefix]++
	}

	return devices
}

// assigned are the addresses with which the machine boots.
func (h Hardware) assigned() []netip.Prefix {
	if len(h.CloudInit.Addresses) > 0 {
		return slices.Clone(h.CloudInit.Addresses)
	}

	return slices.Clone(h.Leases)
}

// addresses are those that the emulation listens on: IPv4 on loopback.
func (h Hardware) addresses() []netip.Prefix {
	return slices.DeleteFunc(h.assigned(), func(p netip.Prefix) bool { return !p.Addr().Is4() || !p.Addr().IsLoopback() })
}

// otherAddresses are the remaining IPv4 addresses, such as those on a storage network, which a node only tells of.
func (h Hardware) otherAddresses() []netip.Prefix {
	return slices.DeleteFunc(h.assigned(), func(p netip.Prefix) bool { return !p.Addr().Is4() || p.Addr().IsLoopback() })
}
