package inventory

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// TrueNASCSI is what truenas-csi finds in the cluster: its namespace truenas-csi, whose pods may be privileged, the ConfigMap and the
// Secret that it reads, and the storage classes. The driver itself is installed by a chart, or by Flux. It makes volumes directly below
// the pool of `storage`.
type TrueNASCSI struct {
	// StorageClasses of the driver. Required.
	StorageClasses []StorageClass `yaml:"storageClasses" required:"true" min:"1" max:"20"`
	// SkipVerify makes the driver accept any certificate of the box. The driver supports neither fingerprint nor caFile, so this must be true if
	// `storage` has one of them. A change is made in place; the driver reads it when it starts. Default: false.
	SkipVerify bool `yaml:"skipVerify"`
	// IQNBase is the beginning of the names of iSCSI targets, the base name in the iSCSI settings of the box; `preflight` compares the
	// two. It is written into each volume, so that a change affects new volumes only. Default: iqn.2005-10.org.freenas.ctl.
	IQNBase string `yaml:"iqnBase" default:"iqn.2005-10.org.freenas.ctl"`
	// Version of the chart. Required with chart.repository. A change upgrades it. Default: none.
	Version ChartVersion `yaml:"version"`
	// Chart is named truenas-csi and installs the driver without namespace, ConfigMap, Secret and storage classes. Default: none;
	// Flux installs the makers' manifest, whose own chart makes a ConfigMap of its own (docs/storage.md).
	Chart Chart `yaml:"chart"`
	// Values for the chart. Default: none.
	Values Values `yaml:"values"`
}

// HasChart reports whether a chart installs the driver.
func (c TrueNASCSI) HasChart() bool { return c.Chart != Chart{} }

// Serves reports whether a class makes volumes by a protocol.
func (c TrueNASCSI) Serves(protocol StorageProtocol) bool {
	for _, class := range c.StorageClasses {
		if class.Protocol == protocol {
			return true
		}
	}
	return false
}

// StorageClass is a StorageClass whose volumes truenas-csi makes. Kubernetes refuses a change of anything but its default: delete the class
// with kubectl, then run `up`. Volumes that are there stay as they are.
type StorageClass struct {
	// Name of the class. Required. A change creates another class.
	Name string `yaml:"name" required:"true"`
	// Protocol by which nodes reach the volumes: nfs, for many pods at a time, or iscsi, for one. Required.
	Protocol StorageProtocol `yaml:"protocol" required:"true"`
	// Default makes it the class of claims that name none; at most one class is. A change is made in place. Default: false.
	Default bool `yaml:"default"`
	// ReclaimPolicy is what becomes of a volume and of its data when its claim is deleted: with Retain they stay, with Delete they go.
	// Default: Retain.
	ReclaimPolicy ReclaimPolicy `yaml:"reclaimPolicy" default:"Retain"`
	// Compression of the volumes. Default: none, that of the driver, LZ4.
	Compression Compression `yaml:"compression"`
	// Networks that may mount the volumes of nfs. Default: the nodes' networks; none with iscsi.
	Networks []netip.Prefix `yaml:"networks" min:"1" max:"100"`
	// Parameters are passed on to the driver, for what has no key here. They can be read by everybody in the cluster. Default: none.
	Parameters map[string]string `yaml:"parameters" max:"50"`
}

// StorageProtocol is how nodes reach volumes.
type StorageProtocol string

// The protocols.
const (
	// ProtocolNFS shares a dataset.
	ProtocolNFS StorageProtocol = "nfs"
	// ProtocolISCSI offers a volume as a disk.
	ProtocolISCSI StorageProtocol = "iscsi"
)

// Choices returns the protocols.
func (StorageProtocol) Choices() []string {
	return []string{string(ProtocolNFS), string(ProtocolISCSI)}
}

// UnmarshalText reads a protocol.
func (p *StorageProtocol) UnmarshalText(text []byte) error { return choose(p, text) }

// ReclaimPolicy is what becomes of a volume whose claim is deleted.
type ReclaimPolicy string

// Choices returns the policies of Kubernetes for volumes that are made on demand.
func (ReclaimPolicy) Choices() []string { return []string{"Retain", "Delete"} }

// UnmarshalText reads a policy.
func (r *ReclaimPolicy) UnmarshalText(text []byte) error { return choose(r, text) }

// complete sets the defaults that depend on the nodes' network.
func (c *TrueNASCSI) complete(network Network) {
	for at := range c.StorageClasses {
		class := &c.StorageClasses[at]
		if class.Protocol == ProtocolNFS && len(class.Networks) == 0 && network.CIDR.IsValid() {
			class.Networks = network.Subnets()
		}
	}
}

// APIURL returns the URL of the box's API, as clients of its WebSocket write it.
func (s Storage) APIURL() string {
	location, _ := url.Parse(s.Endpoint) // the loader has checked it
	return "wss://" + location.Host + "/api/current"
}

// iscsiPort is the registered port of iSCSI (RFC 7143, 13.1).
const iscsiPort = 3260

// ISCSIPortal returns where nodes log in to iSCSI, ADDRESS:PORT: the first IPv4 address that the service listens on, or the given host of the box if
// it listens on all. It is empty without iSCSI, and with IPv6 addresses only.
func (s Storage) ISCSIPortal(host string) string {
	if s.ISCSI == nil {
		return ""
	}
	for _, address := range s.ISCSI.Listen {
		switch {
		case address.IsUnspecified():
			return net.JoinHostPort(host, strconv.Itoa(iscsiPort))
		case address.Is4():
			return net.JoinHostPort(address.String(), strconv.Itoa(iscsiPort))
		}
	}
	return ""
}
