package preflight

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Subject is the subject of the checks.
type Subject struct {
	// Inventory describes what the host is to run.
	Inventory *inventory.Inventory
	// FormerNames are the names in the state of nodes with another name in the inventory; a run replaces their machines.
	FormerNames map[string]string
	// Owner is the stack, with its cluster if the state has one. Its machines are no obstacle.
	Owner ownership.Owner
	// Known are the VMIDs of the machines in the state, including pending creations.
	Known []int
	// Host is the connection to Proxmox VE.
	Host pve.Connection
	// Factory is the URL of the Image Factory.
	Factory *url.URL
	// Schematic is the ID of the schematic of the templates. Default: empty, not known.
	Schematic string
	// UnmadeImages are the gpu-workers whose image the state does not have: the run sends its schematic to the Image Factory.
	UnmadeImages []string
	// Box is the TrueNAS box of the inventory; nil without `storage:`.
	Box *Box
	// KnownDatasets are the datasets in the state, with their pools.
	KnownDatasets []string
	// Makers are the stacks of hosts of the project that configure this Proxmox VE.
	Makers Makers
	// Servers are the nameservers of the inventory that other stacks make.
	Servers []Server
	// ServerAddresses are the other nameservers, which the inventory gives as addresses.
	ServerAddresses []netip.Addr
	// SparesServers is whether the run creates nothing that asks them. Findings about them are warnings then.
	SparesServers bool
}

// patience is the time limit for all readings together.
const patience = time.Minute

// Run gathers the facts and checks them. Facts that cannot be read are failed checks; the error is the context's.
func Run(ctx context.Context, subject Subject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	snapshot := Gather(bounded, subject)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return Evaluate(subject.Inventory, snapshot), nil
}
