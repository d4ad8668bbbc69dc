package operator

import (
	"context"
	"net/netip"

	"github.com/em-infra/em-infra/internal/workspace"
)

// Lab runs the emulated hosts of rehearsals. Package operator/lab has the one of this repository.
type Lab interface {
	// Check refuses what Start would refuse, before anything is prepared for it.
	Check(site Site) error
	// Start starts the lab unless it runs.
	Start(ctx context.Context, site Site) (LabHost, error)
	// Running describes the lab; one that does not run is refused.
	Running(site Site) (LabHost, error)
	// Find describes the lab whether it runs or not.
	Find(site Site) (host LabHost, found bool, err error)
	// Stop stops the lab if it runs.
	Stop(ctx context.Context, site Site) error
	// Writes are the calls so far that may have changed its host, such as "POST /nodes/vmhost/qemu", in their order.
	Writes(site Site) ([]string, error)
}

// Site is where the lab of a rehearsal is.
type Site struct {
	// Stack is the name of the stack.
	Stack string
	// Root is the folder of the project.
	Root string
	// Dir is the folder of the lab's files.
	Dir string
	// Inventory is the folder with cluster.yaml and nodes.yaml.
	Inventory string
}

func siteOf(w *workspace.Workspace) Site {
	return Site{Stack: w.Stack, Root: w.Root, Dir: w.Dir, Inventory: w.Inventory}
}

// LabHost is the host that a lab emulates.
type LabHost struct {
	// Name of the host.
	Name string
	// Release of Proxmox VE which it is.
	Release string
	// Address and port of its API.
	Address netip.AddrPort
	// Endpoint is the URL of its API.
	Endpoint string
	// Token for its API. Secret, though it opens nothing real.
	Token string
	// FactoryURL is the URL of the Image Factory.
	FactoryURL string
	// Network is where the nodes have their addresses.
	Network netip.Prefix
	// TimeScale is what the times of a small server are multiplied by.
	TimeScale float64
}
