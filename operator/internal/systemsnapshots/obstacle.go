package systemsnapshots

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// What Proxmox VE refuses while a machine has snapshots (qemu-server, API2/Qemu.pm, move_vm_disk; QemuMigrate.pm, scan_local_volumes). A disk
// grows with snapshots, and so does the root of a container, whose other changes replace it.
const (
	movesNoDisk   = "Proxmox VE moves no disk that has some"
	movesNoLocals = "Proxmox VE moves no machine whose disks have some to another host, unless both hosts share the storage"
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

// obstacles returns why the change cannot be made with snapshots, each reason once.
func (s subject) obstacles(ctx context.Context, host Host, guest pve.Guest) ([]string, error) {
	if !s.mayBeHeld() {
		return nil, nil
	}
	var why []string
	add := func(is bool, reason string) {
		if is && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	for _, path := range s.step.Changed {
		add(diskMoves.MatchString(path), movesNoDisk)
		if path == hostChanges {
			local, err := s.hasLocalDisk(ctx, host, guest)
			if err != nil {
				return nil, err
			}
			add(local, movesNoLocals)
		}
	}
	return why, nil
}

// hasLocalDisk reports whether a disk of the machine is on a storage that only its host has.
func (s subject) hasLocalDisk(ctx context.Context, host Host, guest pve.Guest) (bool, error) {
	storages, err := host.Storages(ctx, guest.Node)
	if err != nil {
		return false, unread("the storages of "+guest.Node, err)
	}
	for i := range propertymap.List(s.step.Old, "disks") {
		on := propertymap.Text(s.step.Old, fmt.Sprintf("disks[%d].datastoreId", i))
		if !slices.ContainsFunc(storages, func(one pve.Storage) bool { return one.Name == on && bool(one.Shared) }) {
			return true, nil
		}
	}
	return false, nil
}
