package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// namedServers returns the nameservers of the cluster that other stacks of the project make.
func (s *session) namedServers() ([]preflight.Server, error) {
	var servers []preflight.Server
	for _, named := range s.inventory.Cluster.Network.NamedSystems() {
		where, err := s.whereIs(named.Stack)
		if err != nil {
			return nil, err
		}
		inv, err := otherstacks.Systems(s.workspace.Root, named.Stack)
		if err != nil {
			return nil, err
		}
		server := preflight.Server{Name: named.System, Stack: named.Stack, Place: stackFlagsOf(named.Stack, s.workspace.Rehearsed), Where: where, Type: pve.TypeContainer}
		if server.VMID, err = inv.FindVMID(named.System); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(inv.File.VirtualMachines, func(m systems.VirtualMachine) bool { return m.Name == named.System }) {
			server.Type = pve.TypeVM
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// whereIs returns where the guests of another stack are. Stacks whose configurations name no endpoint are taken to be in the same Proxmox VE.
func (o *Operator) whereIs(stack string) (preflight.Where, error) {
	own := o.workspace
	other, err := workspace.Real(own.Root, stack, "")
	if own.Rehearsed {
		other, err = workspace.Rehearsal(own.Root, stack, "")
	}
	if err != nil {
		return 0, err
	}
	here, err := own.RealEndpoint()
	if err != nil {
		return 0, err
	}
	there, err := other.RealEndpoint()
	switch {
	case err != nil:
		return 0, err
	case own.Rehearsed && own.SharedLab() == "":
		return preflight.Unrehearsed, nil
	case own.SharedLab() != other.SharedLab(), here != "" && there != "" && pve.Origin(here) != pve.Origin(there):
		return preflight.Elsewhere, nil
	default:
		return preflight.Here, nil
	}
}

// dependent is a cluster that has systems of a stack as its nameservers.
type dependent struct {
	stack     string
	inventory *inventory.Inventory
	systems   []string
}

// dependentsOf returns the clusters of the project that name systems of a stack, by the names of their stacks. A stack whose inventory is not
// valid is left out: a command for it reports the error.
func dependentsOf(w *workspace.Workspace) ([]dependent, error) {
	stacks, err := workspace.Stacks(w.Root)
	if err != nil {
		return nil, err
	}
	var found []dependent
	for _, stack := range stacks {
		other, err := workspace.Real(w.Root, stack, "")
		if err != nil {
			continue
		}
		content, err := LoadContent(workspace.Nearby(other.Inventory))
		inv, isPlatform := content.(*inventory.Inventory)
		if err != nil || !isPlatform {
			continue
		}
		one := dependent{stack: stack, inventory: inv}
		for _, named := range inv.Cluster.Network.NamedSystems() {
			if named.Stack == w.Stack {
				one.systems = append(one.systems, named.System)
			}
		}
		if one.systems != nil {
			found = append(found, one)
		}
	}
	return found, nil
}

// checkNamed refuses an inventory of systems that lacks what clusters of the project name of it. The error is an [inventory.Problems].
func (o *Operator) checkNamed(content Content) error {
	layer, areSystems := content.(systemsLayer)
	if !areSystems {
		return nil
	}
	dependents, err := dependentsOf(o.workspace)
	if err != nil {
		return err
	}
	var found inventory.Problems
	for _, one := range dependents {
		err := one.inventory.Resolve(func(stack string) (inventory.Systems, error) {
			if stack != o.workspace.Stack {
				other, err := otherstacks.Systems(o.workspace.Root, stack)
				if err != nil {
					return nil, err
				}
				return otherstacks.Named(other), nil
			}
			return otherstacks.Named(layer.Inventory), nil
		})
		var problems *inventory.Problems
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		if problems == nil {
			continue
		}
		for _, problem := range *problems {
			if strings.HasPrefix(problem.Got, o.workspace.Stack+"/") { // others are reported for the cluster's stack
				found = append(found, problem)
			}
		}
	}
	return found.OrNil()
}

// checkNotNeeded refuses while nodes are on the host that find names by systems of this stack: they could not pull an image any more.
func (s *session) checkNotNeeded(ctx context.Context) error {
	if _, areSystems := s.layer.(systemsLayer); !areSystems {
		return nil
	}
	dependents, err := dependentsOf(s.workspace)
	if err != nil || len(dependents) == 0 {
		return err
	}
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	var refusals []error
	for _, one := range dependents {
		where, err := s.whereIs(one.stack)
		if err != nil {
			return err
		}
		if running := one.nodesAmong(guests); where == preflight.Here && len(running) > 0 {
			flags := stackFlagsOf(one.stack, s.workspace.Rehearsed)
			refusals = append(refusals, fmt.Errorf(
				"the nodes of %[1]s (%[2]s) find names by %[3]s of this stack: take that cluster down first with `em-infra destroy %[4]s`, or write another server into network.nameservers of its cluster.yaml and run `em-infra up %[4]s`",
				one.stack, strings.Join(running, ", "), strings.Join(one.systems, ", "), flags))
		}
	}
	return refused(errors.Join(refusals...))
}

// nodesAmong returns the names of the cluster's nodes that are guests of a host.
func (d dependent) nodesAmong(guests []pve.Guest) []string {
	var names []string
	for _, node := range d.inventory.Nodes {
		if slices.ContainsFunc(guests, func(g pve.Guest) bool { return g.VMID == node.VMID && g.Type == pve.TypeVM && g.Name == node.Name }) {
			names = append(names, node.Name)
		}
	}
	return names
}
