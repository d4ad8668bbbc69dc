package preflight

import (
	"time"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Reading is something that was read, or why it could not be.
type Reading[T any] struct {
	Value T
	Err   error
}

// Snapshot is the state of the hosts at one time.
type Snapshot struct {
	// Endpoint that was asked, and Token, without its secret.
	Endpoint, Token string
	// Version of Proxmox VE; when it could not be read, nothing else was.
	Version Reading[string]
	// Took is how long the host took to answer the first request.
	Took time.Duration
	// Privileges of the token by path of the access control.
	Privileges map[string]Reading[[]string]
	// Nodes of the cluster.
	Nodes Reading[[]pve.Node]
	// Hosts of the inventory that are online, by name.
	Hosts map[string]Host
	// Guests of the whole cluster that the token may see.
	Guests Reading[[]pve.Guest]
	// Configs of the guests on hosts that are online, by VMID.
	Configs map[int]Reading[pve.GuestConfig]
	// Factory is the Image Factory, as this machine sees it.
	Factory Factory
	// FormerNames are those that nodes had, by the state.
	FormerNames map[string]string
	// Owner is who asks.
	Owner ownership.Owner
	// Knows are the VMIDs of the machines that the state knows.
	Knows map[int]bool
}

// Host is one host of the inventory.
type Host struct {
	Capacity Reading[pve.Capacity]
	// Ahead is how far the host's clock is before this machine's, to the second; less than zero when it is behind.
	Ahead    Reading[time.Duration]
	Storages Reading[[]pve.Storage]
	Bridges  Reading[[]pve.Bridge]
	Devices  Reading[[]pve.PCIDevice]
	Mappings Reading[[]pve.Mapping]
	// FactoryErr is why the host does not reach the Image Factory.
	FactoryErr error
}

// Factory is an Image Factory.
type Factory struct {
	URL string
	// Versions of Talos that it builds.
	Versions Reading[[]string]
	// Needed are the extensions of the inventory's images.
	Needed []string
	// Extensions that it has for the inventory's version; nothing is read when none are needed.
	Extensions Reading[[]string]
}
