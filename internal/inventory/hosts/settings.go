package hosts

import "net/netip"

// HostNames is a line of /etc/hosts. The address gets these names and no others, and no other address of its family keeps one of them. A line
// that is left out goes if it was made here.
type HostNames struct {
	// Address of the names. Required. A change is applied in place.
	Address netip.Addr `yaml:"address" required:"true"`
	// Names by which the host finds the address, the canonical one first. Required. A change is applied in place.
	Names []string `yaml:"names" required:"true" min:"1" max:"16"`
}

// Repository is a standard repository of packages, which Proxmox VE knows by its handle. One that is left out stays as it is.
type Repository struct {
	// Handle of the repository, e.g. enterprise, no-subscription, ceph-squid-no-subscription. Required.
	Handle string `yaml:"handle" required:"true"`
	// Enabled is whether the host gets packages from it. Default: true. A change is applied in place, and installs nothing.
	Enabled bool `yaml:"enabled" default:"true"`
}
