package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// ofContainers are the privileges that a container needs (pve-container, API2/LXC.pm and LXC.pm, check_ct_modify_config_perm). It is neither
// cloned nor migrated, and has no drives.
var ofContainers = []string{
	"VM.Allocate", "VM.Audit", "VM.Config.CPU", "VM.Config.Disk", "VM.Config.Memory", "VM.Config.Network", "VM.Config.Options", "VM.PowerMgmt",
}

// systemPrivileges compares the token's privileges with what the systems need, path by path.
func (s *collector) systemPrivileges(ctx context.Context, reader pve.Reader, subject SystemsSubject) {
	release, isRead := s.release(ctx, reader, "privileges")
	if !isRead {
		return
	}
	token, err := role.ParseToken(subject.Host.Token)
	if err != nil {
		s.unread("privileges", "the name of the token", err)
		return
	}
	asked := needsOfSystems(subject.Inventory)
	privileges := map[string]Reading[[]string]{}
	for _, one := range asked {
		for _, path := range []string{one.path, one.pool} {
			if _, known := privileges[path]; path != "" && !known {
				has, err := reader.Privileges(ctx, path)
				privileges[path] = Reading[[]string]{Value: has, Err: err}
			}
		}
	}
	reportPrivileges(s, asked, release, token.String(), privileges)
}

// release returns the release of Proxmox VE, on which the names of privileges depend. If it cannot be read, that is a finding of the check.
func (s *collector) release(ctx context.Context, reader pve.Reader, check string) (release role.Release, isRead bool) {
	version, err := reader.Version(ctx)
	if err == nil {
		release, err = role.ParseRelease(version)
	}
	if err != nil {
		s.unread(check, "the version of Proxmox VE", err)
	}
	return release, err == nil
}

// needsOfSystems returns all paths that a run uses, with the privileges on them.
func needsOfSystems(inv *systems.Inventory) []need {
	file := inv.File
	var all []need
	if slices.ContainsFunc(file.VirtualMachines, func(m systems.VirtualMachine) bool { return m.Startup != nil }) {
		all = append(all, need{path: "/", privileges: []string{"Sys.Modify"}})
	}
	for _, host := range inv.Hosts() {
		asks := asksOfSystems(file, host)
		all = append(all, needOfHost("/nodes/"+host, asks))
		for _, asked := range asks {
			all = append(all, needOfStorage(asked))
		}
	}
	for _, image := range file.Images {
		all = append(all, need{path: fmt.Sprintf("/vms/%d", image.VMID), scopes: []role.Scope{role.Machine}})
	}
	for _, machine := range file.VirtualMachines {
		all = append(all, needOfSystem(machine.System, need{scopes: []role.Scope{role.Machine}}))
	}
	for _, container := range file.Containers {
		all = append(all, needOfSystem(container.System, need{privileges: ofContainers}))
	}
	for _, system := range file.Systems() {
		for _, card := range system.NICs {
			all = append(all, need{path: nic{bridge: card.Bridge, vlan: card.VLAN}.path(), scopes: []role.Scope{role.Bridge}})
		}
	}
	for _, pool := range file.Pools() {
		all = append(all, need{path: "/pool/" + pool, scopes: []role.Scope{role.Pool}})
	}
	return all
}

// needOfHost returns what is needed on a host: one that downloads nothing is only read.
func needOfHost(path string, asks []ask) need {
	if slices.ContainsFunc(asks, func(a ask) bool { return slices.Contains(downloaded, a.content) }) {
		return need{path: path, scopes: []role.Scope{role.Host}}
	}
	return need{path: path, privileges: []string{"Sys.Audit"}}
}

// downloaded are the contents of storages that hosts download files of.
var downloaded = []string{"import", "iso", "vztmpl"}

// needOfStorage returns what is needed on a storage. The file of an image is deleted once it is in the template, and Proxmox VE asks
// Datastore.Allocate for that (pve-storage, API2/Storage/Content.pm); the other files stay.
func needOfStorage(asked ask) need {
	on := need{path: "/storage/" + asked.storage}
	switch asked.content {
	case "import":
		on.scopes = []role.Scope{role.ISOStorage}
	case "iso", "vztmpl":
		on.scopes, on.privileges = []role.Scope{role.Storage}, []string{"Datastore.AllocateTemplate"}
	default:
		on.scopes = []role.Scope{role.Storage}
	}
	return on
}

// needOfSystem returns what is needed on a system, or on its pool.
func needOfSystem(system systems.System, on need) need {
	on.path = fmt.Sprintf("/vms/%d", system.VMID)
	if system.Pool != "" {
		on.pool = "/pool/" + system.Pool
	}
	return on
}
