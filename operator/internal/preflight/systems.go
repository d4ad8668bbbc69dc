package preflight

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
)

// SystemsSubject is the subject of the checks of a stack of systems.
type SystemsSubject struct {
	// Inventory describes the systems.
	Inventory *systems.Inventory
	// Host is the connection to Proxmox VE.
	Host pve.Connection
	// Makers are the stacks of hosts of the project that configure it.
	Makers Makers
	// Stack is the name of the stack, and Knows are the VMIDs of the systems in its state.
	Stack string
	Knows []int
}

// Systems gathers the facts about the hosts of systems, and checks them. Facts that cannot be read are failed checks; the error is the
// context's.
func Systems(ctx context.Context, subject SystemsSubject) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s collector
	reader, err := pve.NewReader(subject.Host)
	if err != nil {
		s.unread("host", "Proxmox VE", err)
		return s.checks, nil
	}
	if s.hostsOnline(bounded, reader, subject.Inventory.Hosts(), "correct host in systems.yaml") {
		for _, host := range subject.Inventory.Hosts() {
			s.systemStorages(bounded, reader, subject, host)
			s.systemBridges(bounded, reader, subject, host)
		}
		s.systemPrivileges(bounded, reader, subject)
		s.systemGuests(bounded, reader, subject)
		s.systemSnapshots(bounded, reader, subject)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.checks, nil
}

// systemStorages checks that the storages of a host take what the systems put there.
func (s *collector) systemStorages(ctx context.Context, reader pve.Reader, subject SystemsSubject, host string) {
	mark := len(s.checks)
	storages, err := reader.Storages(ctx, host)
	if err != nil {
		s.unread("storage", "the storages of "+host, err)
		return
	}
	asks := asksOfSystems(subject.Inventory.File, host)
	for _, asked := range asks {
		storage, there := named(storages, asked.storage)
		checkStorage(s, host, asked, storage, there, storages, subject.Makers)
	}
	if s.sound(mark) && len(asks) > 0 {
		s.ok("storage", "the storages of %s take what the systems need", host)
	}
}

// asksOfSystems returns the storages of a host with what they have to take, each pair once.
func asksOfSystems(file systems.File, host string) []ask {
	var asks []ask
	add := func(on, storage, content string) {
		one := ask{storage: storage, content: content}
		if on == host && !slices.Contains(asks, one) {
			asks = append(asks, one)
		}
	}
	for _, image := range file.Images {
		add(image.Host, file.Proxmox.FileStorage, "import")
		add(image.Host, image.DiskStorage, "images")
	}
	for _, machine := range file.VirtualMachines {
		if machine.Disc() != "" {
			add(machine.Host, file.Proxmox.FileStorage, "iso")
		}
		add(machine.Host, machine.DiskStorage, "images")
		for _, disk := range machine.DataDisks {
			add(machine.Host, disk.Storage, "images")
		}
	}
	for _, container := range file.Containers {
		add(container.Host, file.Proxmox.FileStorage, "vztmpl")
		add(container.Host, container.DiskStorage, "rootdir")
	}
	return asks
}

// systemBridges checks that a host has the bridges of its systems.
func (s *collector) systemBridges(ctx context.Context, reader pve.Reader, subject SystemsSubject, host string) {
	mark := len(s.checks)
	bridges, err := reader.Bridges(ctx, host)
	if err != nil {
		s.unread("bridge", "the bridges of "+host, err)
		return
	}
	var asked []string
	for _, system := range subject.Inventory.File.Systems() {
		for _, card := range system.NICs {
			if system.Host != host || slices.Contains(asked, card.Bridge) {
				continue
			}
			asked = append(asked, card.Bridge)
			if !slices.ContainsFunc(bridges, func(b pve.Bridge) bool { return b.Name == card.Bridge }) {
				remedy := subject.Makers.bridgeRemedy(card.Bridge, host, "correct the bridge in systems.yaml, or add it to the host")
				s.lacks("bridge", remedy, "host %s has no bridge %s, or the token may not use it", host, card.Bridge)
			}
		}
	}
	if s.sound(mark) && len(asked) > 0 {
		s.ok("bridge", "%s has %s", host, listed(asked))
	}
}
