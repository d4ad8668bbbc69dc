package status

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Left is what a stack that was destroyed has left on its host.
type Left struct {
	// Machines belong to the stack by their descriptions.
	Machines []Orphan
	// Disks bear the VMID of a machine that the stack had, and no machine has that VMID.
	Disks []Orphan
	// ISOs are those that its templates booted.
	ISOs []Orphan
}

// Left looks for what is on the host of a stack that the state, which is Deployment as it was before, does not know any more.
// owners are the stack with each cluster that it had.
func (s Sources) Left(ctx context.Context, owners []ownership.Owner) (left Left, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return left, fmt.Errorf("virtual machines: %w", err)
	}
	found, err := s.findOn(ctx, slices.DeleteFunc(slices.Clone(guests), isOutOfReach))
	if err != nil {
		return left, err
	}
	found.Guests = guests // a disk of one that is out of reach is no disk without a machine
	return LeftOf(found, owners, slices.Concat(vmids(s.Deployment), sorted(s.ours().Named)), isos(s.Deployment)), nil
}

// LeftOf is what is left on a host of a stack: machines of its owners, disks of the VMIDs that it had, and its ISOs.
func LeftOf(found Found, owners []ownership.Owner, had []int, booted []string) (left Left) {
	for _, guest := range found.Guests {
		owner, isMarked := ownership.In(found.Configs[guest.VMID]["description"])
		if isMarked && guest.Type == "qemu" && slices.Contains(owners, owner) {
			left.Machines = append(left.Machines, leftMachine(guest))
		}
	}
	for _, host := range sorted(found.Volumes) {
		for _, volume := range found.Volumes[host] {
			switch {
			case slices.Contains(booted, volume.ID):
				left.ISOs = append(left.ISOs, leftISO(host, volume, found))
			case volume.Content == "images" && slices.Contains(had, int(volume.VMID)) && !found.has(int(volume.VMID)):
				left.Disks = append(left.Disks, lostDisk(host, volume))
			}
		}
	}
	return left
}

// isOutOfReach reports whether a guest is on a host of the cluster that is off: nothing of ours, whose machines the engine has just
// deleted (pve-manager, PVE/API2Tools.pm, extract_vm_stats).
func isOutOfReach(guest pve.Guest) bool { return guest.Status == "unknown" }

// leftMachine names no command that deletes a machine which runs.
func leftMachine(guest pve.Guest) Orphan {
	left := Orphan{What: fmt.Sprintf("VM %d (%s) on %s", guest.VMID, guest.Name, guest.Node), Host: guest.Node}
	if guest.Status != "stopped" {
		left.What += ", which runs"
		left.Do = "shut it down, then run `em-infra destroy` again, which says how it is deleted"
		return left
	}
	left.Remove = fmt.Sprintf("qm destroy %d --purge", guest.VMID)
	return left
}

// leftISO names no command where a machine would not start any more without it (F16).
func leftISO(host string, volume pve.Volume, found Found) Orphan {
	left := Orphan{What: fmt.Sprintf("%s (%s)", volume.ID, gibibytes(volume.Bytes)), Host: host}
	if found.names(volume.ID) {
		left.Do = "leave it: a machine names it in its drive, and would not start without it"
		return left
	}
	left.Remove = "pvesm free " + volume.ID
	return left
}
