package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// systemsLayer is a stack of the kind Systems.
type systemsLayer struct{ *systems.Inventory }

var (
	_ layer              = systemsLayer{}
	_ inventory.Claimant = systemsLayer{}
)

// examine implements [layer]. Systems change no interface of a host.
func (l systemsLayer) examine(ctx context.Context, facts layerFacts) (preflight.Report, error) {
	return preflight.Systems(ctx, preflight.SystemsSubject{
		Inventory: l.Inventory, Host: facts.host, Makers: facts.makers, Stack: facts.stack, Knows: knownSystems(facts.deployment),
	})
}

// knownSystems returns the VMIDs of the machines and containers of a state.
func knownSystems(deployment apitype.DeploymentV3) []int {
	known := state.KnownVMIDs(deployment)
	for container := range state.Current(deployment, token.Container) {
		known = append(known, state.VMID(container))
	}
	return known
}

// systems implements [layer].
func (l systemsLayer) systems() []status.System {
	var all []status.System
	for _, machine := range l.File.VirtualMachines {
		all = append(all, status.System{Name: machine.Name, Type: status.VirtualMachine, VMID: machine.VMID, Host: machine.Host})
	}
	for _, container := range l.File.Containers {
		all = append(all, status.System{Name: container.Name, Type: status.Container, VMID: container.VMID, Host: container.Host})
	}
	return all
}

// resourceNames implements [layer].
func (l systemsLayer) resourceNames() []string {
	var names []string
	for _, system := range l.systems() {
		names = append(names, stacks.SystemName(l.Inventory, system.Name))
	}
	return names
}

// findByHand implements [layer]: pools, templates and files are made by Commands, which no refresh reads, and the provider overlooks parts of
// a machine.
func (l systemsLayer) findByHand(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) outOfBand {
	var seen outOfBand
	for _, pool := range l.File.Pools() {
		if err := seen.askForPool(ctx, host, deployment, pool); err != nil {
			seen.Unread = append(seen.Unread, fmt.Sprintf("the pool %s: %v", pool, err))
		}
	}
	err := errors.Join(
		seen.askForMachines(ctx, host, state.Machines(deployment)), seen.askForContainers(ctx, host, deployment), seen.askForRoots(ctx, host, deployment, l.Inventory),
		seen.askForSources(ctx, host, deployment, l.Inventory),
	)
	if err != nil {
		seen.Unread = append(seen.Unread, fmt.Sprintf("the hosts, about what the provider does not read: %v", err))
	}
	return seen
}

// askForContainers compares what the provider does not read of containers.
func (l *outOfBand) askForContainers(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) error {
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	for container := range state.Current(deployment, token.Container) {
		at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == state.VMID(container) })
		if at < 0 {
			continue // it is gone, which the provider detects
		}
		config, err := reader.GuestConfig(ctx, guests[at])
		if err != nil {
			return err
		}
		if have := drift.OverlookedInContainer(container.Inputs, config); len(have) > 0 {
			l.ByHand = append(l.ByHand, byHand{urn: container.URN, have: have})
		}
		if start, differs := drift.StartOfContainer(container.Inputs, guests[at], config); differs {
			l.Differences = append(l.Differences, start)
		}
		if nesting, differs := drift.NestingOfContainer(container.Inputs, guests[at], config); differs {
			l.Differences = append(l.Differences, nesting)
		}
	}
	return nil
}

// askForSources checks whether what Commands have made still exists: the templates of images, and the files of ISOs and of templates of
// containers.
func (l *outOfBand) askForSources(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3, inv *systems.Inventory) error {
	reader, err := pve.NewReader(host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return err
	}
	for _, image := range inv.File.Images {
		if !slices.ContainsFunc(guests, func(g pve.Guest) bool { return g.VMID == image.VMID }) {
			l.isGone(deployment, stacks.ImageName(inv, image), fmt.Sprintf("template %s (VM %d)", image.Name, image.VMID))
		}
	}
	for _, file := range downloadsOf(inv) {
		volumes, err := reader.Volumes(ctx, file.host, inv.File.Proxmox.FileStorage)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(volumes, func(v pve.Volume) bool { return v.ID == file.volume }) {
			l.isGone(deployment, file.resource, file.volume+" on "+file.host)
		}
	}
	return nil
}

// downloaded is a file that a host has downloaded.
type downloaded struct{ host, volume, resource string }

// downloadsOf returns the files of ISOs in drives and of templates of containers, on each of their hosts.
func downloadsOf(inv *systems.Inventory) []downloaded {
	var files []downloaded
	storage := inv.File.Proxmox.FileStorage
	for _, iso := range inv.File.ISOs {
		for _, host := range inv.File.ISOHosts(iso.Name) {
			files = append(files, downloaded{host, storage + ":iso/" + iso.File(), stacks.ISOName(inv, iso, host)})
		}
	}
	for _, template := range inv.File.ContainerTemplates {
		for _, host := range inv.File.TemplateHosts(template.Name) {
			files = append(files, downloaded{host, storage + ":vztmpl/" + template.File(), stacks.ContainerTemplateName(inv, template, host)})
		}
	}
	return files
}

// isGone notes that what a Command has made is not there any more, if the state has the Command.
func (l *outOfBand) isGone(deployment apitype.DeploymentV3, name, subject string) {
	for command := range state.Current(deployment, token.Command) {
		if command.URN.Name() != name {
			continue
		}
		l.ByHand = append(l.ByHand, byHand{urn: command.URN, have: drift.Undone(), described: true})
		l.Differences = append(l.Differences, drift.Difference{Subject: subject, Property: "existence", Want: "there", Have: "absent"})
	}
}
