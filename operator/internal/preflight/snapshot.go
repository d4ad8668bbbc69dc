package preflight

import (
	"net/netip"
	"time"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// Reading is a fact, or the error of reading it.
type Reading[T any] struct {
	Value T
	Err   error
}

// Snapshot contains the facts about the hosts at one time.
type Snapshot struct {
	// Endpoint is the URL of Proxmox VE, and Token the token's ID without its secret.
	Endpoint, Token string
	// Version is the version of Proxmox VE; if it could not be read, nothing else was.
	Version Reading[string]
	// Took is the duration of the first request.
	Took time.Duration
	// Privileges are the token's privileges by path of the access control.
	Privileges map[string]Reading[[]string]
	// Nodes are the hosts of the Proxmox VE cluster.
	Nodes Reading[[]pve.Node]
	// Hosts are the online hosts of the inventory by name.
	Hosts map[string]Host
	// Guests are the guests of the whole cluster that the token may see.
	Guests Reading[[]pve.Guest]
	// Configs are the configurations of the guests on online hosts by VMID.
	Configs map[int]Reading[pve.GuestConfig]
	// ISOs are those in the nodes' drives, and whether each is there.
	ISOs map[pve.ISO]Reading[bool]
	// Factory contains the facts about the Image Factory as seen from this machine.
	Factory Factory
	// NAS contains the facts about the TrueNAS box of the inventory; nil without one.
	NAS *NAS
	// FormerNames are the nodes' former names in the state.
	FormerNames map[string]string
	// Owner is the owner of this stack's machines.
	Owner ownership.Owner
	// Knows contains the VMIDs of the machines in the state.
	Knows map[int]bool
	// Makers are the stacks that can make what is missing on the hosts.
	Makers Makers
	// Servers are the nameservers of the cluster that other stacks make.
	Servers []Server
	// ServerAddresses are the other nameservers, which the inventory gives as addresses.
	ServerAddresses []netip.Addr
	// SparesServers is whether the run creates nothing that asks them. Findings about them are warnings then.
	SparesServers bool
}

// Host is one host of the inventory.
type Host struct {
	Capacity Reading[pve.Capacity]
	// Ahead is the difference between the host's clock and this machine's, in whole seconds; negative if the host is behind.
	Ahead    Reading[time.Duration]
	Storages Reading[[]pve.Storage]
	Bridges  Reading[[]pve.Bridge]
	Devices  Reading[[]pve.PCIDevice]
	Mappings Reading[[]pve.Mapping]
	// Passthrough is what the host reports about passthrough; not read for a host without GPU workers.
	Passthrough Reading[passthrough.Facts]
	// FactoryErr is the error if the host does not reach the Image Factory.
	FactoryErr error
}

// Factory contains the facts about an Image Factory.
type Factory struct {
	URL string
	// Schematic is the ID of the schematic that the templates' ISO is made from; empty if it is not known.
	Schematic string
	// UnmadeImages are the gpu-workers whose schematic the run sends to it.
	UnmadeImages []string
	// Versions are the versions of Talos that it builds.
	Versions Reading[[]string]
	// Needed are the extensions of the inventory's images.
	Needed []string
	// Extensions are its extensions for the inventory's version; not read if none are needed.
	Extensions Reading[[]string]
}
