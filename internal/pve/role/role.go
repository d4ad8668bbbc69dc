// Package role contains the privileges that an API token of Proxmox VE needs for a stack. The list has four users: `em-infra
// role` prints the commands that create the role, a preflight compares a token with it, the lab grants it to its own token, and
// docs/security.md is generated from it.
package role

import (
	"slices"
)

// Name of the role.
const Name = "EmInfraOperator"

// Scope is the kind of object on which privileges are required. Each has its own path in Proxmox VE's access control.
type Scope int

// The scopes.
const (
	Root       Scope = iota // /
	Host                    // /nodes/NODE
	Storage                 // /storage/STORAGE
	ISOStorage              // /storage/STORAGE, of the one that holds the ISO
	Machine                 // /vms/VMID
	GuestAgent              // /vms/VMID, of a machine whose image has QEMU's guest agent
	Snapshots               // /vms/VMID, of a system of which snapshots are taken
	Backups                 // /pool/POOL, of a backup job
	Bridge                  // /sdn/zones/localnetwork/BRIDGE and, with a tag, /sdn/zones/localnetwork/BRIDGE/TAG
	Mapping                 // /mapping/pci
	Pool                    // /pool/POOL
)

// grant is one privilege with the scopes that it is needed on.
type grant struct {
	privilege string
	scopes    []Scope
	// purpose is the use of the privilege, for docs/security.md.
	purpose string
	// since and until limit the releases that have the privilege: from since on, and before until.
	since, until Release
}

// nine is the release that replaced VM.Monitor by finer privileges (pve-access-control, src/PVE/AccessControl.pm,
// $valid_privs; F12).
var nine = Release{Major: 9}

// grants are exactly the privileges that are required by the API methods that the provider and this tool call ("permissions" in the API schema of
// Proxmox VE). Only privileges that every path of a scope needs are listed.
var grants = []grant{
	{
		privilege: "Sys.Audit", scopes: []Scope{Root, Host},
		purpose: "reads hosts, their PCI devices, tasks and measurements",
	},
	{
		privilege: "Sys.Modify", scopes: []Scope{Root},
		purpose: "sets the startup order of a VM; reads a host's network, and changes it and the resolver in a stack of hosts; allows downloads where the host knows no finer privilege",
	},
	{
		privilege: "Sys.AccessNetwork", scopes: []Scope{Host},
		purpose: "has the host download the ISO from the Image Factory",
	},
	{
		privilege: "Datastore.Audit", scopes: []Scope{Storage, ISOStorage},
		purpose: "reads which storages there are, their free space, and the disks and ISO files on them",
	},
	{
		privilege: "Datastore.AllocateSpace", scopes: []Scope{Storage, ISOStorage},
		purpose: "makes disks and cloud-init drives, and the file of an ISO",
	},
	{
		privilege: "Datastore.AllocateTemplate", scopes: []Scope{ISOStorage},
		purpose: "downloads an ISO to the storage",
	},
	{
		privilege: "Datastore.Allocate", scopes: []Scope{ISOStorage},
		purpose: "defines storages in a stack of hosts; lets the provider delete an ISO file, which no run asks for",
	},
	{
		privilege: "VM.Allocate", scopes: []Scope{Machine},
		purpose: "creates and deletes VMs and templates",
	},
	{
		privilege: "VM.Audit", scopes: []Scope{Machine},
		purpose: "reads the configuration and the status of VMs",
	},
	{
		privilege: "VM.Clone", scopes: []Scope{Machine},
		purpose: "clones the template",
	},
	{
		privilege: "VM.Migrate", scopes: []Scope{Machine},
		purpose: "moves a VM to another host when its node's host changes",
	},
	{
		privilege: "VM.Config.CDROM", scopes: []Scope{Machine},
		purpose: "puts the ISO into the VM's drive",
	},
	{
		privilege: "VM.Config.CPU", scopes: []Scope{Machine},
		purpose: "sets cores, sockets and the type of CPU",
	},
	{
		privilege: "VM.Config.Cloudinit", scopes: []Scope{Machine},
		purpose: "gives the VM its first address by the cloud-init drive",
	},
	{
		privilege: "VM.Config.Disk", scopes: []Scope{Machine},
		purpose: "adds, grows and moves disks",
	},
	{
		privilege: "VM.Config.HWType", scopes: []Scope{Machine},
		purpose: "sets the machine type, the controllers and PCI devices",
	},
	{
		privilege: "VM.Config.Memory", scopes: []Scope{Machine},
		purpose: "sets the memory",
	},
	{
		privilege: "VM.Config.Network", scopes: []Scope{Machine},
		purpose: "adds network cards, with bridge, VLAN and MAC address",
	},
	{
		privilege: "VM.Config.Options", scopes: []Scope{Machine},
		purpose: "sets name, description, tags, boot order and start at boot",
	},
	{
		privilege: "VM.PowerMgmt", scopes: []Scope{Machine},
		purpose: "starts, stops and restarts VMs",
	},
	{
		privilege: "SDN.Use", scopes: []Scope{Bridge}, // F13
		purpose: "connects a network card to a bridge",
	},
	{
		privilege: "Mapping.Audit", scopes: []Scope{Mapping}, // F14
		purpose: "reads the resource mappings of PCI devices",
	},
	{
		privilege: "Mapping.Modify", scopes: []Scope{Mapping},
		purpose: "creates and deletes the mapping of a GPU that the inventory describes, and those of a stack of hosts, for USB devices on /mapping/usb",
	},
	{
		privilege: "Mapping.Use", scopes: []Scope{Mapping},
		purpose: "gives a mapped GPU to a VM",
	},
	{
		privilege: "Pool.Allocate", scopes: []Scope{Pool},
		purpose: "creates and deletes the resource pool, and puts VMs into it",
	},
	{
		privilege: "Pool.Audit", scopes: []Scope{Pool},
		purpose: "reads the resource pool",
	},
	{
		privilege: "VM.Monitor", scopes: []Scope{GuestAgent}, until: nine,
		purpose: "asks the guest agent what it knows; it opens QEMU's monitor as well",
	},
	{
		privilege: "VM.GuestAgent.Audit", scopes: []Scope{GuestAgent}, since: nine,
		purpose: "asks the guest agent what it knows",
	},
	{
		privilege: "VM.Snapshot", scopes: []Scope{Snapshots},
		purpose: "takes snapshots of a system before a change, where systems.yaml asks for them, and removes those",
	},
	{
		privilege: "VM.Backup", scopes: []Scope{Backups},
		purpose: "defines the backup job of a pool, where hosts.yaml asks for one",
	},
}

// Need determines the privileges of a role.
type Need struct {
	// Release of the host.
	Release Release
	// GuestAgent is whether images contain QEMU's guest agent. Without one there is no agent to query, and VM.Monitor, which
	// Proxmox VE 8 requires for that, also gives access to QEMU's monitor.
	GuestAgent bool
	// Snapshots is whether snapshots of systems are taken before changes. A token that may take snapshots may also remove any snapshot.
	Snapshots bool
	// Backups is whether backup jobs of pools are defined. A token that may define a job may also make backups of its machines.
	Backups bool
}

// Privileges returns the privileges of the role.
func (n Need) Privileges() []string {
	return privileges(n.Release, func(g grant) bool {
		return (n.GuestAgent || !slices.Contains(g.scopes, GuestAgent)) && (n.Snapshots || !slices.Contains(g.scopes, Snapshots)) &&
			(n.Backups || !slices.Contains(g.scopes, Backups))
	})
}

// On returns the privileges of the role that are needed on every path of a scope.
func On(scope Scope, release Release) []string {
	return privileges(release, func(g grant) bool { return slices.Contains(g.scopes, scope) })
}

func privileges(release Release, wanted func(grant) bool) []string {
	var names []string
	for _, g := range grants {
		if g.knownTo(release) && wanted(g) {
			names = append(names, g.privilege)
		}
	}
	return names
}

func (g grant) knownTo(release Release) bool {
	return !release.Before(g.since) && (g.until == Release{} || release.Before(g.until))
}
