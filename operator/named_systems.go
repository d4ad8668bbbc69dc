package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// namedServers returns the nameservers of the cluster that other stacks of the project make.
func (h *hostChecks) namedServers() ([]preflight.Server, error) {
	var servers []preflight.Server
	for _, named := range h.inventory.Cluster.Network.NamedSystems() {
		where, err := h.whereIs(named.Stack)
		if err != nil {
			return nil, err
		}
		inv, err := otherstacks.Systems(h.workspace.Root, named.Stack)
		if err != nil {
			return nil, err
		}
		server := preflight.Server{Name: named.System, Stack: named.Stack, Place: stackFlagsOf(named.Stack, h.workspace.Rehearsed), Where: where, Type: pve.TypeContainer}
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

// plainServers returns the nameservers of the cluster that cluster.yaml gives as addresses.
func (h *hostChecks) plainServers() []netip.Addr {
	var addresses []netip.Addr
	for _, server := range h.inventory.Cluster.Network.Nameservers {
		if !server.IsSystem() {
			addresses = append(addresses, server.Address)
		}
	}
	return addresses
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

// dependentsOf returns the clusters of the project that name systems of a stack, by the names of their stacks. unknown are the stacks whose files are
// not valid, so that it is not known what they name.
func dependentsOf(w *workspace.Workspace) (found []dependent, unknown []string, err error) {
	stacks, err := workspace.Stacks(w.Root)
	if err != nil {
		return nil, nil, err
	}
	for _, stack := range stacks {
		inv, err := clusterOf(w.Root, stack)
		if err != nil {
			unknown = append(unknown, stack)
		}
		if inv == nil {
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
	return found, unknown, nil
}

// clusterOf returns the inventory of a stack's cluster; nil if the stack is of another kind.
func clusterOf(root, stack string) (*inventory.Inventory, error) {
	other, err := workspace.Real(root, stack, "")
	if err != nil {
		return nil, err
	}
	dir := workspace.Nearby(other.Inventory)
	if kind, err := manifest.KindOf(dir); err != nil || kind != KindPlatform {
		return nil, err
	}
	return inventory.Load(dir)
}

// checkNamed refuses an inventory of systems with which the nameservers of a cluster of the project are not valid, e.g. because it lacks a system
// that the cluster names. The error is an [inventory.Problems]. A cluster whose files are not valid is left out: a command for it reports that.
func (o *Operator) checkNamed(content Content) error {
	layer, areSystems := content.(systemsLayer)
	if !areSystems {
		return nil
	}
	dependents, _, err := dependentsOf(o.workspace)
	if err != nil {
		return err
	}
	var found inventory.Problems
	for _, one := range dependents {
		err := one.inventory.Resolve(func(stack string) (inventory.Systems, error) {
			if stack != o.workspace.Stack {
				return nil, nil
			}
			return otherstacks.Named(layer.Inventory), nil
		})
		var problems *inventory.Problems
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		if problems != nil {
			found = append(found, *problems...)
		}
	}
	return found.OrNil()
}

// checkNotNeeded refuses to delete the systems of an inventory while nodes on the host have some of them as nameservers: the nodes could not pull an
// image any more. It also refuses if the files of a stack that may name them are not valid.
func (o *Operator) checkNotNeeded(ctx context.Context, content Content, host pve.Connection) error {
	if _, areSystems := content.(systemsLayer); !areSystems {
		return nil
	}
	dependents, unknown, err := dependentsOf(o.workspace)
	if err != nil || len(dependents)+len(unknown) == 0 {
		return err
	}
	var refusals []error
	for _, stack := range unknown {
		refusals = append(refusals, fmt.Errorf("the files of stack %[1]s are not valid, so em-infra cannot tell whether it needs these systems: correct what `em-infra validate --stack %[1]s` reports, then run it again", stack))
	}
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	for _, one := range dependents {
		where, err := o.whereIs(one.stack)
		if err != nil {
			return err
		}
		if running := one.nodesAmong(guests); where == preflight.Here && len(running) > 0 {
			flags := stackFlagsOf(one.stack, o.workspace.Rehearsed)
			refusals = append(refusals, fmt.Errorf(
				"the nodes of %[1]s (%[2]s) use %[3]s of this stack as nameserver: take that cluster down first with `em-infra destroy %[4]s`, or write another server into network.nameservers of its cluster.yaml and run `em-infra up %[4]s`",
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
