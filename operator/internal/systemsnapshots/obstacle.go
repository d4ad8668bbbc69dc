package systemsnapshots

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// What Proxmox VE refuses of a disk and of an ISO that a snapshot has (qemu-server, API2/Qemu.pm, move_vm_disk; QemuMigrate.pm,
// scan_local_volumes, which looks at the CD-ROMs of all snapshots, too). A disk grows with snapshots, and so does the root of a container, whose
// other changes replace it.
const (
	movesNoDisk   = "Proxmox VE does not move a disk that a snapshot has (%s)"
	movesNoLocals = "Proxmox VE does not move a machine to another host while a snapshot has one of its disks (%s), unless both hosts share the storage"
	movesNoISOs   = "Proxmox VE does not move a machine to another host while a snapshot has an ISO of a local storage (%s)"
)

var diskMoves = regexp.MustCompile(`^disks\[\d+\]\.datastoreId$`)

// hostChanges is the property of a machine whose change migrates it.
const hostChanges = "nodeName"

// stepOf returns the step of the virtual machine with a VMID; an empty one if there is none.
func stepOf(steps []plan.Step, vmid int) plan.Step {
	for _, s := range steps {
		if of, _ := propertymap.Int(s.New, "vmId"); s.URN.IsValid() && s.URN.Type() == token.VirtualMachine && of == vmid {
			return s
		}
	}
	return plan.Step{}
}

// mayBeHeld reports whether snapshots can be in the way of the change.
func (s subject) mayBeHeld() bool {
	return slices.ContainsFunc(s.step.Changed, func(path string) bool {
		return path == hostChanges || diskMoves.MatchString(path)
	})
}

// hold is why a change cannot be made.
type hold struct {
	why      []string // what snapshots prevent, each reason once
	by       []string // the snapshots that are in its way already, the oldest first
	always   bool     // the snapshot of this run would be in its way, too
	inserted []string // the drives with an ISO that keep the machine on its host
}

// isFree reports whether the change can be made.
func (h hold) isFree() bool { return len(h.why) == 0 && len(h.inserted) == 0 }

// held returns what snapshots prevent of the change: those that are there, and that of this run, which has all disks of the machine. A disk that
// was added after a snapshot is not in it. An ISO in a drive, which a user can have put there by hand, prevents the change even without a snapshot.
func (s subject) held(ctx context.Context, host Host, wanted Wanted, taken []pve.Snapshot) (found hold, err error) {
	if !s.mayBeHeld() {
		return found, nil
	}
	now, err := host.GuestConfig(ctx, wanted.Guest)
	if err != nil {
		return found, unread("the configuration of "+s.Name, err)
	}
	then := make([]pve.GuestConfig, len(taken))
	for i, one := range taken {
		if then[i], err = host.SnapshotConfig(ctx, wanted.Guest, one.Name); err != nil {
			return found, unread(fmt.Sprintf("the snapshot %s of %s", one.Name, s.Name), err)
		}
	}
	isLocal, err := s.local(ctx, host, wanted.Guest)
	if err != nil {
		return found, err
	}
	moved := s.movedDisks(now.Disks())
	movedOf := func(config pve.GuestConfig) []string { return moved.of(config.Disks()) }
	disksOf := func(config pve.GuestConfig) []string { return isLocal.of(config.Disks()) }
	isosOf := func(config pve.GuestConfig) []string { return isLocal.of(config.ISOs()) }
	found.inserted, found.always = isosOf(now), len(movedOf(now))+len(disksOf(now)) > 0
	all := then
	if s.KeptSnapshots() > 0 && wanted.Standing == "" {
		all = append(slices.Clip(then), now)
	}
	found.add(movesNoDisk, movedOf, all)
	found.add(movesNoLocals, disksOf, all)
	found.add(movesNoISOs, isosOf, then) // that of this run has none: the drives are emptied before
	for i, one := range taken {
		if len(movedOf(then[i]))+len(disksOf(then[i]))+len(isosOf(then[i])) > 0 {
			found.by = append(found.by, one.Name)
		}
	}
	return found, nil
}

// add adds a reason if one of the snapshots has drives that the change concerns.
func (h *hold) add(why string, drivesOf func(pve.GuestConfig) []string, snapshots []pve.GuestConfig) {
	var names []string
	for _, one := range snapshots {
		names = append(names, drivesOf(one)...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		h.why = append(h.why, fmt.Sprintf(why, strings.Join(names, ", ")))
	}
}

// disks are volumes, with the drives that they are now.
type disks map[string]string

// of returns the present drives of those disks that are among these volumes of drives.
func (d disks) of(volumes map[string]string) []string {
	var found []string
	for _, volume := range volumes {
		if drive, isThere := d[volume]; isThere {
			found = append(found, drive)
		}
	}
	return found
}

// movedDisks returns the disks that move to another storage.
func (s subject) movedDisks(now map[string]string) disks {
	moved := disks{}
	for _, path := range s.step.Changed {
		if !diskMoves.MatchString(path) {
			continue
		}
		drive := propertymap.Text(s.step.Old, strings.TrimSuffix(path, "datastoreId")+"interface")
		if volume, isThere := now[drive]; isThere {
			moved[volume] = drive
		}
	}
	return moved
}

// local reports whether a storage is one that only the host of a machine has. No storage counts as one if the machine stays on its host.
type local func(storage string) bool

// of returns the drives whose volumes are on such a storage, in their order.
func (l local) of(volumes map[string]string) []string {
	var found []string
	for drive, volume := range volumes {
		if on, _, _ := strings.Cut(volume, ":"); l(on) {
			found = append(found, drive)
		}
	}
	slices.Sort(found)
	return found
}

// local asks for the storages if the machine goes to another host: what is on a local one goes with it, also the disks for the firmware and for a
// TPM, and those that only a snapshot has.
func (s subject) local(ctx context.Context, host Host, guest pve.Guest) (local, error) {
	if !slices.Contains(s.step.Changed, hostChanges) {
		return func(string) bool { return false }, nil
	}
	storages, err := host.Storages(ctx, guest.Node)
	if err != nil {
		return nil, unread("the storages of "+guest.Node, err)
	}
	return func(storage string) bool {
		return !slices.ContainsFunc(storages, func(one pve.Storage) bool { return one.Name == storage && bool(one.Shared) })
	}, nil
}
