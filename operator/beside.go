package operator

import (
	"errors"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// checkBeside refuses an inventory with anything that belongs to a stack beside this one, such as VMIDs and addresses. This happens, for
// example, after a stack's files were copied. Stacks whose configurations name different endpoints are on different hosts and are not compared.
func (o *Operator) checkBeside(inv inventory.Claimant) error {
	w := o.workspace
	if w.Rehearsed && strings.HasSuffix(w.Stack, rehearsalSuffix) {
		return nil // the stack that is rehearsed has the same VMIDs, on a host of its own
	}
	endpoint, err := w.RealEndpoint()
	if err != nil {
		return err
	}
	others, err := besideOf(w, endpoint)
	if err != nil {
		return err
	}
	var found inventory.Problems
	for _, beside := range others {
		var problems *inventory.Problems
		if errors.As(compareWith(inv, beside), &problems) {
			found = slices.Concat(found, *problems)
		}
	}
	if len(found) > 0 {
		return &found
	}
	return nil
}

// compareWith compares an inventory with that of another stack.
func compareWith(inv inventory.Claimant, beside inventory.Beside) error {
	if platform, isPlatform := inv.(*inventory.Inventory); isPlatform {
		return platform.CheckBeside(beside)
	}
	return inventory.CheckBeside(inv, beside)
}

// besideOf returns the stacks beside a stack, without those that name another endpoint. A stack whose inventory is not valid is left out:
// a command for it reports the error.
func besideOf(w *workspace.Workspace, endpoint string) ([]inventory.Beside, error) {
	others, err := w.Beside()
	if err != nil {
		return nil, err
	}
	var beside []inventory.Beside
	for _, other := range others {
		there, err := other.RealEndpoint()
		if err != nil || endpoint != "" && there != "" && pve.Origin(endpoint) != pve.Origin(there) {
			continue
		}
		sound, err := LoadContent(workspace.Nearby(other.Inventory))
		if err != nil {
			continue
		}
		guests, hasGuests := sound.(inventory.Claimant)
		if !hasGuests {
			continue
		}
		beside = append(beside, inventory.Beside{Stack: other.Stack, Inventory: guests, SameEndpoint: endpoint != "" && there != ""}) // others were left out
	}
	return beside, nil
}

// makers returns the stacks of hosts beside this one that configure the same Proxmox VE. One whose inventory is not valid is left out: a command
// for it reports the error. A rehearsal on a lab of its own has none: its host has what the inventory needs.
func (o *Operator) makers() (preflight.Makers, error) {
	w := o.workspace
	if w.Rehearsed && w.SharedLab() == "" {
		return nil, nil
	}
	endpoint, err := w.RealEndpoint()
	if err != nil {
		return nil, err
	}
	return makersBeside(w, endpoint)
}

// makersBeside returns the stacks of hosts beside a stack whose endpoint is this one.
func makersBeside(w *workspace.Workspace, endpoint string) (preflight.Makers, error) {
	others, err := w.Beside()
	if err != nil {
		return nil, err
	}
	var makers preflight.Makers
	for _, other := range others {
		there, err := other.RealEndpoint()
		if err != nil || there == "" && !w.Rehearsed || pve.Origin(endpoint) != pve.Origin(there) {
			continue
		}
		content, err := LoadContent(workspace.Nearby(other.Inventory))
		if layer, isHosts := content.(hostsLayer); err == nil && isHosts {
			makers = append(makers, preflight.Maker{Place: stackFlagsOf(other.Stack, w.Rehearsed), Inventory: layer.Inventory})
		}
	}
	return makers, nil
}

// stackFlagsOf returns the flags that select a stack of the project.
func stackFlagsOf(stack string, rehearsed bool) string {
	if rehearsed {
		return "--stack " + stack + " --lab"
	}
	return "--stack " + stack
}

// Validate loads the stack's inventory, whatever its kind is, and compares it with the inventories of the stacks beside it. It needs no network. The error
// is an [inventory.Problems] with all problems.
func (o *Operator) Validate() (Content, error) {
	content, err := o.Content()
	if err != nil {
		return nil, err
	}
	if guests, hasGuests := content.(inventory.Claimant); hasGuests {
		if err := o.checkBeside(guests); err != nil {
			return content, err
		}
	}
	if err := o.checkNamed(content); err != nil {
		return content, err
	}
	inv, isPlatform := content.(*inventory.Inventory)
	if !isPlatform {
		return content, nil
	}
	return inv, refused(o.checkSealing(inv))
}
