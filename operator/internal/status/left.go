package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Left contains what a destroyed stack has left on its host.
type Left struct {
	// Machines are machines whose descriptions name the stack.
	Machines []Orphan
	// Disks are disks with the VMID of one of the stack's machines, if no machine has that VMID any more.
	Disks []Orphan
	// ISOs are the ISOs that its templates booted.
	ISOs []Orphan
	// Unclear are guests with the stack's VMIDs that may be its, since their hosts are off or do not answer.
	Unclear []Orphan
}

// Left finds what a destroyed stack has left on its host. Deployment is the state from before the destroy; owners are the stack with
// each cluster that it had.
func (s Sources) Left(ctx context.Context, owners []ownership.Owner) (left Left, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return left, fmt.Errorf("virtual machines: %w", err)
	}
	found, err := s.findOn(ctx, guests, time.Time{})
	if err != nil {
		return left, err
	}
	had := slices.Concat(state.VMIDs(s.Deployment), sorted(s.ours().Named))
	unclear, err := found.unclear(func(guest pve.Guest) bool { return guest.Type == pve.TypeVM && slices.Contains(had, guest.VMID) })
	if err != nil {
		return left, err
	}
	left = LeftOf(found, owners, had, isos(s.Deployment))
	left.Unclear = unclear
	return left, nil
}

// unclear returns the guests that may be ours and whose hosts are off or do not answer: it is then not known whether the run that was to make one
// was cut off. If a host answers but does not give a configuration, that is an error, since it may be that of a machine of the stack.
func (f Found) unclear(mayBeOurs func(pve.Guest) bool) (unclear []Orphan, err error) {
	for _, guest := range f.Guests {
		switch reason := f.Unread[guest.VMID]; {
		case reason == nil:
		case !isSilence(reason) && guest.Status != unknown:
			return nil, fmt.Errorf("configuration of %s: %w", guest, reason)
		case mayBeOurs(guest):
			unclear = append(unclear, Orphan{
				What: fmt.Sprintf("%s %d on %s, which may belong to the stack: its configuration is not known (%v)", guestTypes[guest.Type], guest.VMID, guest.Node, reason),
				Host: guest.Node, Do: "when its host answers, run `em-infra destroy` again: it tells whether this guest belongs to the stack",
			})
		}
	}
	return unclear, nil
}

// LeftOf returns what a stack has left on a host: machines of its owners, disks with its VMIDs, and its ISOs.
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
				left.Disks = append(left.Disks, leftDisk(host, volume, found))
			}
		}
	}
	return left
}

// LeftSystems finds the systems of a destroyed stack that are still on their hosts. They are not in its state: their creation was cut off.
func (s Sources) LeftSystems(ctx context.Context, stack string, systems []System) (left Left, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return left, fmt.Errorf("virtual machines and containers: %w", err)
	}
	mayBeOurs := func(guest pve.Guest) bool {
		return slices.ContainsFunc(systems, func(s System) bool { return s.is(guest) })
	}
	found := Found{Configs: map[int]pve.GuestConfig{}, Unread: map[int]error{}}
	found.Guests = slices.DeleteFunc(guests, func(guest pve.Guest) bool { return !mayBeOurs(guest) })
	if found.Off, err = hostsOff(ctx, s.Host, found.Guests); err != nil {
		return left, err
	}
	if err := s.readConfigs(ctx, &found); err != nil {
		return left, err
	}
	if left.Unclear, err = found.unclear(mayBeOurs); err != nil {
		return left, err
	}
	for _, guest := range found.Guests {
		if ownership.StackOfSystem(found.Configs[guest.VMID]["description"]) == stack {
			left.Machines = append(left.Machines, leftMachine(guest))
		}
	}
	return left, nil
}

// leftMachine gives no command that deletes a running machine.
func leftMachine(guest pve.Guest) Orphan {
	remove := fmt.Sprintf("qm destroy %d --purge", guest.VMID)
	if guest.Type == pve.TypeContainer {
		remove = fmt.Sprintf("pct destroy %d --purge", guest.VMID)
	}
	left := Orphan{What: fmt.Sprintf("%s %d (%s) on %s", guestTypes[guest.Type], guest.VMID, guest.Name, guest.Node), Host: guest.Node}
	if guest.Status != "stopped" {
		left.What += ", which runs"
		left.Do = "shut it down, then run `em-infra destroy` again, which says how it is deleted"
		return left
	}
	left.Remove = remove
	return left
}

// leftDisk gives no command for a disk that a machine may have which the token does not see.
func leftDisk(host string, volume pve.Volume, found Found) Orphan {
	left := lostDisk(host, volume)
	if found.Partial {
		left.What = fmt.Sprintf("disk %s (%s)", volume.ID, gibibytes(volume.Bytes))
		left.Remove, left.Do = "", fmt.Sprintf("do not delete it before the list of all machines shows no VM %d: %s", volume.VMID, partial)
	}
	return left
}

// leftISO gives no command for an ISO without which a machine would not start (F16).
func leftISO(host string, volume pve.Volume, found Found) Orphan {
	left := Orphan{What: fmt.Sprintf("%s (%s)", volume.ID, gibibytes(volume.Bytes)), Host: host}
	switch unseen := found.unseen(); {
	case found.names(volume.ID):
		left.Do = "leave it: a machine names it in its drive, and would not start without it"
	case unseen != "":
		left.Do = "leave it until all machines are known, since one may name it in its drive: " + unseen
	default:
		left.Remove = "pvesm free " + volume.ID
	}
	return left
}
