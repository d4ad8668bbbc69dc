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

// What Proxmox VE refuses of a disk that a snapshot has (qemu-server, API2/Qemu.pm, move_vm_disk; QemuMigrate.pm, scan_local_volumes). A disk
// grows with snapshots, and so does the root of a container, whose other changes replace it.
const (
	movesNoDisk   = "Proxmox VE moves no disk that has some (%s)"
	movesNoLocals = "Proxmox VE moves no machine whose disks have some (%s) to another host, unless both hosts share the storage"
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

// hold is why a change cannot be made with snapshots, each reason once, and the names of those that are in its way already, the oldest first. It
// is empty if the change can be made.
type hold struct{ why, by []string }

// held returns what snapshots hold of the change: those that are there, and that of this run, which has all disks of the machine. A disk that was
// added after a snapshot is not in it.
func (s subject) held(ctx context.Context, host Host, wanted Wanted, taken []pve.Snapshot) (found hold, err error) {
	if !s.mayBeHeld() {
		return found, nil
	}
	config, err := host.GuestConfig(ctx, wanted.Guest)
	if err != nil {
		return found, unread("the configuration of "+s.Name, err)
	}
	now, all := config.Disks(), make([]drives, len(taken))
	for i, one := range taken {
		then, err := host.SnapshotConfig(ctx, wanted.Guest, one.Name)
		if err != nil {
			return found, unread(fmt.Sprintf("the snapshot %s of %s", one.Name, s.Name), err)
		}
		all[i] = then.Disks()
	}
	if s.KeptSnapshots() > 0 && wanted.Standing == "" {
		all = append(all, now)
	}
	moved := s.movedDisks(now)
	local, err := s.localDisks(ctx, host, wanted.Guest, all)
	found.add(movesNoDisk, moved, all)
	found.add(movesNoLocals, local, all)
	for i, one := range taken {
		if len(all[i].of(moved)) > 0 || len(all[i].of(local)) > 0 {
			found.by = append(found.by, one.Name)
		}
	}
	return found, err
}

// drives are the disks of a machine, or of one of its snapshots: the volumes by their drives.
type drives map[string]string

// disks are volumes, with the drives that they are or were.
type disks map[string]string

// of returns the drives of the disks whose volumes are among these.
func (d drives) of(wanted disks) []string {
	var found []string
	for _, volume := range d {
		if drive, isThere := wanted[volume]; isThere {
			found = append(found, drive)
		}
	}
	return found
}

// add adds a reason if one of the snapshots has one of the disks.
func (h *hold) add(why string, wanted disks, snapshots []drives) {
	var names []string
	for _, one := range snapshots {
		names = append(names, one.of(wanted)...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		h.why = append(h.why, fmt.Sprintf(why, strings.Join(names, ", ")))
	}
}

// movedDisks returns the disks that move to another storage.
func (s subject) movedDisks(now drives) disks {
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

// localDisks returns the disks in snapshots that go to another host, because only that of the machine has their storage: also those for the
// firmware and for a TPM, and those that only a snapshot has.
func (s subject) localDisks(ctx context.Context, host Host, guest pve.Guest, snapshots []drives) (disks, error) {
	if !slices.Contains(s.step.Changed, hostChanges) || len(snapshots) == 0 {
		return nil, nil
	}
	storages, err := host.Storages(ctx, guest.Node)
	if err != nil {
		return nil, unread("the storages of "+guest.Node, err)
	}
	local := disks{}
	for _, one := range snapshots {
		for drive, volume := range one {
			on, _, _ := strings.Cut(volume, ":")
			if !slices.ContainsFunc(storages, func(one pve.Storage) bool { return one.Name == on && bool(one.Shared) }) {
				local[volume] = drive
			}
		}
	}
	return local, nil
}
