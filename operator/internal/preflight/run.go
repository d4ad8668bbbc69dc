package preflight

import (
	"context"
	"net/url"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Subject is what is to be checked.
type Subject struct {
	// Inventory that the host is to bear.
	Inventory *inventory.Inventory
	// FormerNames are those of nodes that the state knows by another name; a run replaces their machines.
	FormerNames map[string]string
	// Owner is the stack, with its cluster where the state has one: whose machines are no obstacle.
	Owner ownership.Owner
	// Known are the VMIDs of the machines that the state knows, or knows to have been begun.
	Known []int
	// Host is how to reach Proxmox VE.
	Host pve.Connection
	// Factory is the URL of the Image Factory.
	Factory *url.URL
}

// patience bounds all reading together.
const patience = time.Minute

// Run gathers and judges. What cannot be read is a failed check; the error is that of an interrupted context.
func Run(ctx context.Context, subject Subject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	snapshot := Gather(bounded, subject)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return Evaluate(subject.Inventory, snapshot), nil
}
