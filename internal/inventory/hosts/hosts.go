package hosts

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// KindHosts is the kind in the header of the file.
const KindHosts = "Hosts"

// File is hosts.yaml: what hosts of one Proxmox VE have before anything runs on them.
type File struct {
	// Header names the format of the file.
	manifest.Header `yaml:",inline"`
	// Name of the stack's resources: a DNS-1123 label, and a prefix of their names in the state. Required. A change creates all of them
	// anew in the state.
	Name string `yaml:"name" required:"true"`
	// Protect forbids the deletion of everything in the stack until it is false again. Default: false.
	Protect bool `yaml:"protect"`
	// Hosts are the nodes of Proxmox VE that the stack configures. Required.
	Hosts []Host `yaml:"hosts" required:"true" min:"1" max:"32"`
	// Storages are storages of Proxmox VE, whose definitions all hosts share. Default: none. One that is left out stays if it was there
	// before the stack; one that was made here loses its definition, and never its data.
	Storages []Storage `yaml:"storages" max:"64"`
	// Mappings are resource mappings of PCI devices, such as GPUs: names by which machines get a device of their host. Default: none.
	Mappings []Mapping `yaml:"mappings" max:"64"`
	// USBMappings are resource mappings of USB devices: names by which machines get a device of their host. Default: none.
	USBMappings []USBMapping `yaml:"usbMappings" max:"64"`
	// Pools are resource pools that are made unless they exist. Default: none.
	Pools []Pool `yaml:"pools" max:"256"`
	// Access is who may do what: roles, groups, users and their permissions. Default: none.
	Access Access `yaml:"access"`
	// Options are settings of the whole cluster of Proxmox VE. Default: they stay as they are.
	Options Options `yaml:"options"`
	// MetricServers get the statistics of all hosts. Default: none.
	MetricServers []MetricServer `yaml:"metricServers" max:"16"`
	// BackupJobs make backups of machines at times. Default: none.
	BackupJobs []BackupJob `yaml:"backupJobs" max:"64"`
}

// Host is one node of Proxmox VE.
type Host struct {
	// Name of the node, as Proxmox VE shows it. Required.
	Name string `yaml:"name" required:"true"`
	// Network is what its network has. Interfaces that are not named stay as they are.
	Network Network `yaml:"network"`
	// DNS is where the host resolves names. Default: it stays as it is. It is set in place, and stays when the stack is destroyed.
	DNS *DNS `yaml:"dns"`
	// TimeZone of the host, e.g. Europe/Berlin. Default: it stays as it is. A change is applied in place, and a destroy leaves it.
	TimeZone string `yaml:"timeZone"`
	// Names are lines of /etc/hosts. Default: none. Lines that are not named stay as they are.
	Names []HostNames `yaml:"names" max:"128"`
	// Repositories are the standard repositories of packages. Default: none. A destroy leaves them as they are.
	Repositories []Repository `yaml:"repositories" max:"16"`
}

// DNS is where a host resolves names (/etc/resolv.conf).
type DNS struct {
	// SearchDomain is appended to names without a dot. Required. A change is applied in place.
	SearchDomain string `yaml:"searchDomain" required:"true"`
	// Servers are the addresses of the servers, the first one first. Required. A change is applied in place.
	Servers []netip.Addr `yaml:"servers" required:"true" min:"1" max:"3"`
}

// Network is what a host's network has. All changes of a host are staged, shown as the host's own diff, and applied with one reload. A change
// of the interfaces by which the API is reached is refused, unless `em-infra up --allow-interface HOST/INTERFACE` names them.
type Network struct {
	// Bridges are Linux bridges. Default: none. A bridge that is left out is deleted if it was made here, unless machines use it.
	Bridges []Bridge `yaml:"bridges" max:"64"`
	// VLANs are VLAN interfaces, for addresses of the host. Machines need none on a bridge that is aware of VLANs. Default: none.
	VLANs []VLAN `yaml:"vlans" max:"256"`
}

// Bridge is a Linux bridge. Every change is applied in place by the reload of its host.
type Bridge struct {
	// Name of the bridge, e.g. vmbr1. Required.
	Name string `yaml:"name" required:"true"`
	// Ports are the interfaces of the host that the bridge connects. Default: none, a bridge for machines alone.
	Ports []string `yaml:"ports" max:"16"`
	// VLANAware is whether the bridge passes tagged frames to machines. Default: true.
	VLANAware bool `yaml:"vlanAware" default:"true"`
	// Addressed is what the host itself has on it.
	Addressed `yaml:",inline"`
}

// VLAN is the interface of a host in a VLAN. Every change is applied in place by the reload of its host.
type VLAN struct {
	// Name of the interface. Default: device and tag with a dot between them, such as vmbr0.30.
	Name string `yaml:"name"`
	// Device that the tagged frames come by: a bridge or an interface. Required.
	Device string `yaml:"device" required:"true"`
	// Tag of the VLAN. Required.
	Tag int `yaml:"tag" required:"true"`
	// Addressed is what the host itself has on it.
	Addressed `yaml:",inline"`
}

// Addressed is what a host itself has on an interface.
type Addressed struct {
	// Address of the host with the length of its network, e.g. 10.30.0.1/24. Default: none.
	Address netip.Prefix `yaml:"address"`
	// Address6 is the same for IPv6. Default: none.
	Address6 netip.Prefix `yaml:"address6"`
	// Gateway is the default route of the host. Default: none. A host has one at most.
	Gateway netip.Addr `yaml:"gateway"`
	// Gateway6 is the default route of IPv6. Default: none. A host has one at most.
	Gateway6 netip.Addr `yaml:"gateway6"`
	// MTU in bytes, 1280 to 65520. Default: that of the device. A card or bond that the interface is made of gets this MTU, too, if its own is smaller,
	// and keeps it when the interface is removed or gets a smaller one. An interface of this file that it is made of must have at least this MTU.
	MTU int `yaml:"mtu"`
	// Comment of the interface, in one line. Default: none.
	Comment string `yaml:"comment"`
}

// Pool is a resource pool. The pool that contains it must be listed, too, or exist. A pool that exists is used as it is; one that was made here is
// deleted with the stack once it has no members.
type Pool struct {
	// Name of the pool: up to three levels with / between them. Required. A change makes another pool.
	Name string `yaml:"name" required:"true"`
}
