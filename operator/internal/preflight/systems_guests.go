package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
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
		if config, ours := s.systemVMID(ctx, reader, guests, vmidClaim{
			name: image.Name, vmid: image.VMID, kind: pve.TypeVM, ours: func(_ int, description string) bool { return pve.IsImageTemplate(description) },
		}); ours && isOfImage(config["description"], image) {
			s.systemDisks(file, image, sizeGiB(config[hardware.SystemDrive]), guests)
		}
	}
	for _, system := range file.Systems() {
		kind := pve.TypeVM
		if slices.ContainsFunc(file.Containers, func(c systems.Container) bool { return c.VMID == system.VMID }) {
			kind = pve.TypeContainer
		}
		s.systemVMID(ctx, reader, guests, vmidClaim{system.Name, system.VMID, kind, subject.made, subject.Stack, slices.Contains(subject.Knows, system.VMID)})
	}
	if s.sound(mark) {
		s.ok("vmid", "%s: free, or ours", counted(len(file.Images)+len(file.Systems()), "VMID"))
	}
}

// vmidClaim is what a VMID is to be used for.
type vmidClaim struct {
	name string
	vmid int
	kind string
	ours func(vmid int, description string) bool
	// stack is this stack, and isKnown whether its state has the VMID; neither is set for a template.
	stack   string
	isKnown bool
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
		whose, remedy := strangerAmongSystems(guest, claim, description)
		s.fail("vmid", remedy, "VMID %d of %s is taken by %s%s", claim.vmid, claim.name, Described(guest), whose)
	}
	return nil, false
}

// strangerAmongSystems returns the owner of a guest that is not ours, if it is known, and what to do. Another VMID in the inventory replaces an
// existing system, so it is no remedy for a system that the state knows.
func strangerAmongSystems(guest pve.Guest, claim vmidClaim, description string) (whose, remedy string) {
	stack := ownership.StackOfSystem(description)
	another := fmt.Sprintf("give %s another vmid in systems.yaml", claim.name)
	switch {
	case stack != "" && claim.isKnown:
		return fmt.Sprintf(", which belongs to stack %s: this stack's state is a copy of that one's, or that one was renamed", stack),
			fmt.Sprintf("work on stack %[1]s, or, after a rename, take it back with `pulumi stack rename --stack %[2]s %[1]s`", stack, claim.stack)
	case stack != "":
		return ", which belongs to stack " + stack, another
	case guest.Type == claim.kind && guest.Name == claim.name && !bool(guest.Template):
		return ", which the state does not know, and whose description does not say that this stack has made it",
			"put the state that knows it back with `em-infra state restore`; or " + another
	default:
		return "", another
	}
}

// made reports whether the stack has made a guest. If its description has a mark, only the mark counts: a machine made by hand, or that of a copy
// of this stack, can have the name. A guest whose description was edited is ours if the state has its VMID; a run then writes the mark.
func (subject SystemsSubject) made(vmid int, description string) bool {
	if stack := ownership.StackOfSystem(description); stack != "" {
		return stack == subject.Stack
	}
	return slices.Contains(subject.Knows, vmid)
}

// isOfImage reports whether a template was made from the image that the inventory has now. One of another image is replaced before anything is
// cloned.
func isOfImage(description string, image systems.Image) bool {
	return strings.HasSuffix(strings.TrimRight(description, "\n"), fmt.Sprintf(", %s.", image.Checksum)) // Proxmox VE ends a description with a line feed
}

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
