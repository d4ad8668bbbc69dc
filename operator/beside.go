package operator

import (
	"errors"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
)

// checkBeside refuses what a stack beside this one already has to itself, such as VMIDs and addresses, as after copying a stack's files. Stacks whose
// configurations name different endpoints are on different hosts and are not compared.
func (o *Operator) checkBeside(inv *inventory.Inventory) error {
	w := o.workspace
	if w.Rehearsed && strings.HasSuffix(w.Stack, rehearsalSuffix) {
		return nil // the stack that is rehearsed has the same VMIDs, on a host of its own
	}
	others, err := w.Beside()
	if err != nil {
		return err
	}
	here, err := w.RealEndpoint()
	if err != nil {
		return err
	}
	var found inventory.Problems
	for _, other := range others {
		there, err := other.RealEndpoint()
		if err != nil || here != "" && there != "" && pve.Origin(here) != pve.Origin(there) {
			continue
		}
		sound, err := inventory.Load(workspace.Nearby(other.Inventory))
		if err != nil {
			continue // a command for that stack reports the error
		}
		var problems *inventory.Problems
		beside := inventory.Beside{Stack: other.Stack, Inventory: sound, SameEndpoint: here != "" && there != ""} // others were left out
		if errors.As(inv.CheckBeside(beside), &problems) {
			found = slices.Concat(found, *problems)
		}
	}
	if len(found) > 0 {
		return &found
	}
	return nil
}

// Validate loads the stack's inventory and compares it with the inventories of the stacks beside it. It needs no network. The error
// is an [inventory.Problems] with all problems.
func (o *Operator) Validate() (*inventory.Inventory, error) {
	inv, err := o.Inventory()
	if err != nil {
		return nil, err
	}
	if err := o.checkBeside(inv); err != nil {
		return inv, err
	}
	return inv, refused(o.checkSealing(inv))
}
