package hosts

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Options are settings of the whole cluster of Proxmox VE (Datacenter > Options). One that is left out stays as it is, and a destroy leaves all as
// they are. Every change is applied in place.
type Options struct {
	// Keyboard layout of consoles, e.g. de or en-us. Default: it stays as it is.
	Keyboard Keyboard `yaml:"keyboard"`
	// Console is the viewer that the web interface opens. Default: it stays as it is.
	Console Console `yaml:"console"`
	// EmailFrom is the sender of notifications. Default: it stays as it is.
	EmailFrom string `yaml:"emailFrom"`
	// HTTPProxy by which hosts download, e.g. http://proxy.home.example:3128. Default: it stays as it is.
	HTTPProxy string `yaml:"httpProxy"`
	// MACPrefix of network cards that get no address, e.g. BC:24:11. Default: it stays as it is.
	MACPrefix string `yaml:"macPrefix"`
	// MaxWorkers is how many tasks a host does side by side when it starts or stops all machines. Default: it stays as it is.
	MaxWorkers int `yaml:"maxWorkers" min:"1" max:"64"`
	// Migration is how machines move between hosts. Default: it stays as it is.
	Migration *Migration `yaml:"migration"`
	// HAShutdownPolicy is what happens to machines under high availability when their host is shut down. Default: it stays as it is.
	HAShutdownPolicy HAShutdownPolicy `yaml:"haShutdownPolicy"`
	// NextVMID is the range from which Proxmox VE proposes a VMID. em-infra takes its own from the inventory. Default: it stays as it is.
	NextVMID *VMIDRange `yaml:"nextVmid"`
	// BandwidthLimits of transfers. Default: they stay as they are.
	BandwidthLimits *BandwidthLimits `yaml:"bandwidthLimits"`
}

// Migration is how machines move between hosts.
type Migration struct {
	// Type is secure, through SSH, or insecure, in clear on a network of its own. Default: secure.
	Type MigrationType `yaml:"type" default:"secure"`
	// Network by which they move, e.g. 10.30.0.0/24. Default: the hosts' own.
	Network netip.Prefix `yaml:"network"`
}

// VMIDRange is a range of VMIDs.
type VMIDRange struct {
	// Lower end of the range, itself in it. Default: 100.
	Lower int `yaml:"lower"`
	// Upper end of the range, not in it. Default: 1000000.
	Upper int `yaml:"upper" default:"1000000"`
}

// BandwidthLimits are limits of transfers in KiB/s; 0 is no limit. A limit that is left out has the value of default.
type BandwidthLimits struct {
	// Default of the others. Default: no limit.
	Default *int `yaml:"default" min:"0"`
	// Clone of a disk. Default: that of default.
	Clone *int `yaml:"clone" min:"0"`
	// Migration of a machine. Default: that of default.
	Migration *int `yaml:"migration" min:"0"`
	// Move of a disk to another storage. Default: that of default.
	Move *int `yaml:"move" min:"0"`
	// Restore of a backup. Default: that of default.
	Restore *int `yaml:"restore" min:"0"`
}

// Keyboard is a layout of a keyboard.
type Keyboard string

// Choices returns all layouts (pve-cluster, PVE/DataCenterConfig.pm).
func (Keyboard) Choices() []string {
	return []string{
		"de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch", "hu", "is", "it", "ja", "lt", "mk", "nl", "no", "pl",
		"pt", "pt-br", "sv", "sl", "tr",
	}
}

// UnmarshalText reads a layout.
func (k *Keyboard) UnmarshalText(text []byte) error { return manifest.Choose(k, text) }

// Console is a viewer of consoles.
type Console string

// Choices returns all viewers.
func (Console) Choices() []string { return []string{"html5", "vv", "xtermjs"} }

// UnmarshalText reads a viewer.
func (c *Console) UnmarshalText(text []byte) error { return manifest.Choose(c, text) }

// MigrationType is how the memory of a machine travels.
type MigrationType string

// Choices returns all types.
func (MigrationType) Choices() []string { return []string{"secure", "insecure"} }

// UnmarshalText reads a type.
func (m *MigrationType) UnmarshalText(text []byte) error { return manifest.Choose(m, text) }

// HAShutdownPolicy is what high availability does when a host is shut down.
type HAShutdownPolicy string

// Choices returns all policies.
func (HAShutdownPolicy) Choices() []string {
	return []string{"conditional", "failover", "freeze", "migrate"}
}

// UnmarshalText reads a policy.
func (p *HAShutdownPolicy) UnmarshalText(text []byte) error { return manifest.Choose(p, text) }
