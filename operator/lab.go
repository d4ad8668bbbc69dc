package operator

import (
	"context"
	"net/netip"

	"github.com/em-infra/em-infra/internal/workspace"
)

// Lab runs the emulated hosts of rehearsals. Package operator/lab implements it with the lab of this repository.
type Lab interface {
	// Check returns the refusals of Start before anything is prepared.
	Check(site Site) error
	// CheckShared returns why no lab can be what the stacks of these inventories need together.
	CheckShared(inventories []string) error
	// Start starts the lab unless it is running.
	Start(ctx context.Context, site Site) (LabHost, error)
	// Running describes a running lab. It refuses if the lab is not running.
	Running(site Site) (LabHost, error)
	// Find describes the lab, running or not.
	Find(site Site) (host LabHost, found bool, err error)
	// Stop stops the lab if it is running.
	Stop(ctx context.Context, site Site) error
	// Writes returns the calls so far that may have changed the lab's host, such as "POST /nodes/vmhost/qemu", in their order.
	Writes(site Site) ([]string, error)
}

// Site identifies the lab of a rehearsal.
type Site struct {
	// Stack is the name of the stack.
	Stack string
	// Shared is the name of a lab that several stacks share; empty for a lab of the stack's own.
	Shared string
	// Root is the folder of the project.
	Root string
	// Dir is the folder of the lab's files.
	Dir string
	// Inventory is the folder with the inventory: cluster.yaml and nodes.yaml, hosts.yaml, or systems.yaml.
	Inventory string
}

func siteOf(w *workspace.Workspace) Site {
	return Site{Stack: w.Stack, Shared: w.SharedLab(), Root: w.Root, Dir: w.Lab, Inventory: w.Inventory}
}

// LabHost is the host that a lab emulates.
type LabHost struct {
	// Name is the host's name.
	Name string
	// Release is the release of Proxmox VE.
	Release string
	// Address is the address and port of the API.
	Address netip.AddrPort
	// Endpoint is the URL of the API.
	Endpoint string
	// Token is the API token. Secret, though it gives access to nothing real.
	Token string
	// StorageEndpoint is the URL of TrueNAS, StorageFingerprint that of its certificate, and StorageKey its API key. Empty without one.
	StorageEndpoint, StorageFingerprint, StorageKey string
	// FactoryURL is the URL of the Image Factory.
	FactoryURL string
	// Networks are those of the nodes' addresses, one for each cluster that has its own network.
	Networks []netip.Prefix
	// NetworkOf returns the network in the lab for a cluster's own network.
	NetworkOf func(own netip.Prefix) (netip.Prefix, error)
	// TimeScale is the factor for the durations of a small server.
	TimeScale float64
}
