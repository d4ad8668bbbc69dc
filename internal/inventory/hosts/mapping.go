package hosts

import "github.com/em-infra/em-infra/internal/inventory"

// Mapping is a resource mapping of PCI devices, which `gpus: [{mapping: NAME}]` of a cluster names. One that exists and that the stack has not
// made is refused by Proxmox VE.
type Mapping struct {
	// Name of the mapping. Required. A change deletes the former one, so first take it out of the machines that name it.
	Name string `yaml:"name" required:"true"`
	// Comment of the mapping. Default: none. A change is applied in place.
	Comment string `yaml:"comment"`
	// Devices of the hosts, several of one host for machines that each need one. Required. A change is applied in place, and machines see it when they
	// start again.
	Devices []MappedDevice `yaml:"devices" required:"true" min:"1" max:"64"`
}

// MappedDevice is a PCI device of a host. Proxmox VE compares all its facts when a machine with it starts (pve-guest-common, PVE/Mapping/PCI.pm);
// preflight compares them before that.
type MappedDevice struct {
	// Host that has the device. Required.
	Host string `yaml:"host" required:"true"`
	// BDF is its address as `lspci -D` shows it, e.g. 0000:01:00.0. Required.
	BDF inventory.BDF `yaml:"bdf" required:"true"`
	// DeviceID is vendor:device, e.g. 10de:2204. Required.
	DeviceID inventory.PCIID `yaml:"deviceId" required:"true"`
	// SubsystemID is vendor:device of the subsystem, e.g. 1462:3881. Required.
	SubsystemID inventory.PCIID `yaml:"subsystemId" required:"true"`
	// IOMMUGroup is the number of its IOMMU group. Required.
	IOMMUGroup int `yaml:"iommuGroup" required:"true" min:"0" max:"65535"`
}

// USBMapping is a resource mapping of USB devices. One that exists and that the stack has not made is refused by Proxmox VE.
type USBMapping struct {
	// Name of the mapping. Required. A change deletes the former one, so first take it out of the machines that name it.
	Name string `yaml:"name" required:"true"`
	// Comment of the mapping. Default: none. A change is applied in place.
	Comment string `yaml:"comment"`
	// Devices of the hosts, one for each host at most. Required. A change is applied in place, and machines see it when they start again.
	Devices []USBDevice `yaml:"devices" required:"true" min:"1" max:"32"`
}

// USBDevice is a USB device of a host, which need not be plugged in until a machine with it starts.
type USBDevice struct {
	// Host that has the device. Required.
	Host string `yaml:"host" required:"true"`
	// ID is vendor:product as `lsusb` shows it, e.g. 0658:0200. Required.
	ID string `yaml:"id" required:"true"`
	// Port is the bus and the port that the device is at, e.g. 1-2.1, to distinguish two of the same kind. Default: any port.
	Port string `yaml:"port"`
}
