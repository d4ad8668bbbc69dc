package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// systemSnapshots checks that the token may take snapshots of the systems that are to have some, and that the storages of those that exist can.
// Proxmox VE reports that for a disk and not for a storage, so nothing is known before a system exists.
func (s *collector) systemSnapshots(ctx context.Context, reader pve.Reader, subject SystemsSubject) {
	var asked []systems.System
	for _, system := range subject.Inventory.File.Systems() {
		if system.KeptSnapshots() > 0 {
			asked = append(asked, system)
		}
	}
	if len(asked) == 0 {
		return
	}
	mark := len(s.checks)
	s.snapshotPrivilege(ctx, reader, asked, subject.Host.Token)
	s.snapshotStorages(ctx, reader, asked)
	if s.sound(mark) {
		s.ok("snapshot", "snapshots can be taken of %s before changes", counted(len(asked), "system"))
	}
}

// snapshotPrivilege checks the privilege on each system, or on its pool.
func (s *collector) snapshotPrivilege(ctx context.Context, reader pve.Reader, asked []systems.System, token string) {
	release, isRead := s.release(ctx, reader, "snapshot")
	if !isRead {
		return
	}
	var paths, missing []string
	for _, system := range asked {
		path := fmt.Sprintf("/vms/%d", system.VMID)
		lacking, err := lackingOn(ctx, reader, role.On(role.Snapshots, release), path, system.Pool)
		if err != nil {
			s.unread("snapshot", "what the token may do on "+path, err)
			return
		}
		if len(lacking) > 0 {
			paths, missing = append(paths, path), lacking
		}
	}
	if len(paths) == 0 {
		return
	}
	remedy := fmt.Sprintf("as root on the host: `pveum role modify %s --append 1 --privs \"%s\"`, or the same for the role that the token has there; or take no snapshots: leave out snapshots in systems.yaml", role.Name, missing[0])
	id, err := role.ParseToken(token)
	if err != nil {
		s.unread("snapshot", "the name of the token", err)
		return
	}
	s.fail("snapshot", remedy, "token %s lacks %s on %s, without which no snapshot is taken before a change", id, missing[0], listed(paths))
}

// lackingOn returns the privileges that the token has neither on the path of a guest nor on its pool, which a guest that is to be made
// belongs to as soon as it is there.
func lackingOn(ctx context.Context, reader pve.Reader, needed []string, path, pool string) ([]string, error) {
	has, err := reader.Privileges(ctx, path)
	if err != nil || pool == "" {
		return without(needed, has), err
	}
	onPool, err := reader.Privileges(ctx, "/pool/"+pool)
	return without(needed, slices.Concat(has, onPool)), err
}

// snapshotStorages checks that the storages of the systems that exist can take snapshots.
func (s *collector) snapshotStorages(ctx context.Context, reader pve.Reader, asked []systems.System) {
	guests, err := reader.Guests(ctx)
	if err != nil {
		s.unread("snapshot", "the list of guests", err)
		return
	}
	for _, system := range asked {
		at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == system.VMID })
		if at < 0 {
			continue
		}
		can, err := reader.CanSnapshot(ctx, guests[at])
		if err != nil {
			s.unread("snapshot", "whether "+system.Name+" can have snapshots", err)
			continue
		}
		if !can {
			s.fail("snapshot", fmt.Sprintf("set snapshots: {keep: 0} for %s; after that, its disks can be moved to a storage that can, such as ZFS, LVM-thin or Ceph", system.Name),
				"a storage of %s (%s) cannot take snapshots", system.Name, guests[at])
		}
	}
}
