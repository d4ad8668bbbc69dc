package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// systemGuests looks for guests of others that have the VMIDs of systems and templates, and for machines that are too small for their image.
func (s *collector) systemGuests(ctx context.Context, reader pve.Reader, subject SystemsSubject) {
	guests, err := reader.Guests(ctx)
	if err != nil {
		s.unread("vmid", "the list of guests", err)
		return
	}
	mark, file := len(s.checks), subject.Inventory.File
	for _, image := range file.Images {
		if config, ours := s.systemVMID(ctx, reader, guests, vmidClaim{image.Name, image.VMID, pve.TypeVM, isImageTemplate}); ours {
			s.systemDisks(file, image, sizeGiB(config["scsi0"]), guests)
		}
	}
	for _, system := range file.Systems() {
		kind := pve.TypeVM
		if slices.ContainsFunc(file.Containers, func(c systems.Container) bool { return c.VMID == system.VMID }) {
			kind = pve.TypeContainer
		}
		s.systemVMID(ctx, reader, guests, vmidClaim{system.Name, system.VMID, kind, subject.made})
	}
	if s.sound(mark) {
		s.ok("vmid", "%s: free, or ours", counted(len(file.Images)+len(file.Systems()), "VMID"))
	}
}

// vmidClaim is what a VMID is to be.
type vmidClaim struct {
	name string
	vmid int
	kind string
	ours func(vmid int, description string) bool
}

// systemVMID checks that a VMID is free, or that of the guest that is to have it. It returns the settings of a guest that is ours.
func (s *collector) systemVMID(ctx context.Context, reader pve.Reader, guests []pve.Guest, claim vmidClaim) (config pve.GuestConfig, ours bool) {
	at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == claim.vmid })
	if at < 0 {
		return nil, false
	}
	guest := guests[at]
	config, err := reader.GuestConfig(ctx, guest)
	description := config["description"]
	switch {
	case err == nil && guest.Type == claim.kind && claim.ours(claim.vmid, description):
		return config, true
	case guest.Type == claim.kind && isNameless(guest, Reading[pve.GuestConfig]{Value: config, Err: err}):
		s.warn("vmid", beingMade, "%s is being made; it is taken for %s, which a run before may have begun", guest, claim.name)
	case err != nil:
		s.unread("vmid", "what is at VMID "+fmt.Sprint(claim.vmid), err)
	default:
		whose, restore := strangerAmongSystems(guest, claim, description)
		s.fail("vmid", fmt.Sprintf("%sgive %s another vmid in systems.yaml", restore, claim.name), "VMID %d of %s is taken by %s%s", claim.vmid, claim.name, Described(guest), whose)
	}
	return nil, false
}

// strangerAmongSystems returns whose a guest is that is not ours, and a remedy beside another VMID; both are empty if nothing more is known.
func strangerAmongSystems(guest pve.Guest, claim vmidClaim, description string) (whose, remedy string) {
	stack := ownership.StackOfSystem(description)
	switch {
	case stack != "":
		return ", which belongs to stack " + stack, ""
	case guest.Type == claim.kind && guest.Name == claim.name && !bool(guest.Template):
		return ", which the state does not know, and whose description does not say that this stack has made it",
			"put the state that knows it back with `em-infra state restore`; or "
	default:
		return "", ""
	}
}

// made reports whether the stack has made a guest. Only the mark in its description counts: a machine that somebody has made by hand, or a copy of
// this stack, can have the name. A guest without a mark, because somebody has edited the description, is ours if the state has its VMID; a run then
// writes the mark.
func (subject SystemsSubject) made(vmid int, description string) bool {
	if stack := ownership.StackOfSystem(description); stack != "" {
		return stack == subject.Stack
	}
	return slices.Contains(subject.Knows, vmid)
}

// isImageTemplate reports whether a description is that of a template of an image, which says no stack.
func isImageTemplate(_ int, description string) bool {
	return strings.HasPrefix(description, imageMark)
}

// imageMark is the beginning of the description of a template that this tool has made from an image.
const imageMark = "Made by em-infra from "

// systemDisks checks that the machines which are to be cloned from a template have disks that its image fits into: Proxmox VE only grows a disk, and
// the provider finds that out when the clone is there.
func (s *collector) systemDisks(file systems.File, image systems.Image, needs int, guests []pve.Guest) {
	for _, machine := range file.VirtualMachines {
		isThere := slices.ContainsFunc(guests, func(g pve.Guest) bool { return g.VMID == machine.VMID })
		if machine.Image == image.Name && machine.DiskGiB < needs && !isThere {
			s.fail("disk", fmt.Sprintf("set diskGiB of %s to %d or more", machine.Name, needs),
				"the disk of %s has %d GiB, and the image %s needs %d GiB", machine.Name, machine.DiskGiB, image.Name, needs)
		}
	}
}
