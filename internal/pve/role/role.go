// Package role is the least that an API token of Proxmox VE has to be allowed for a stack: one list of privileges, from
// which the commands that make the role are printed, which a preflight holds a token against, and which the emulated host
// gives its own token.
package role

import (
	"slices"
)

// Name of the role.
const Name = "EmInfraOperator"

// Scope is the kind of object that privileges are asked for on. Each has its own path in Proxmox VE's access control.
type Scope int

// The scopes.
const (
	Root       Scope = iota // /
	Host                    // /nodes/NODE
	Storage                 // /storage/STORAGE
	ISOStorage              // /storage/STORAGE, of the one that holds the ISO
	Machine                 // /vms/VMID
	GuestAgent              // /vms/VMID, of a machine whose image has QEMU's guest agent
	Bridge                  // /sdn/zones/localnetwork/BRIDGE and, with a tag, /sdn/zones/localnetwork/BRIDGE/TAG
	Mapping                 // /mapping/pci
	Pool                    // /pool/POOL
)

// grant is one privilege with the scopes that it is needed on.
type grant struct {
	privilege string
	scopes    []Scope
	// since and until bound the releases that know the privilege: from since on, and before until.
	since, until Release
}

// nine is the release that put finer privileges in the place of VM.Monitor (pve-access-control, src/PVE/AccessControl.pm,
// $valid_privs; F12).
var nine = Release{Major: 9}

// grants are what the methods that the provider and this tool call ask for ("permissions" in the API schema of Proxmox VE),
// and no more. Only privileges that every path of a scope needs stand here.
var grants = []grant{
	// Reading hosts, their PCI devices and their tasks; with Sys.Modify it also allows downloads from a URL.
	{privilege: "Sys.Audit", scopes: []Scope{Root, Host}},
	// The startup order of a VM; the host's network; downloads where the host knows no finer privilege.
	{privilege: "Sys.Modify", scopes: []Scope{Root}},
	{privilege: "Sys.AccessNetwork", scopes: []Scope{Host}},
	// Reading storages, disks of VMs, and ISO files.
	{privilege: "Datastore.Audit", scopes: []Scope{Storage, ISOStorage}},
	{privilege: "Datastore.AllocateSpace", scopes: []Scope{Storage, ISOStorage}},
	{privilege: "Datastore.AllocateTemplate", scopes: []Scope{ISOStorage}},
	// Deleting ISO files.
	{privilege: "Datastore.Allocate", scopes: []Scope{ISOStorage}},
	// VMs: existence, cloning, settings by group, power.
	{privilege: "VM.Allocate", scopes: []Scope{Machine}},
	{privilege: "VM.Audit", scopes: []Scope{Machine}},
	{privilege: "VM.Clone", scopes: []Scope{Machine}},
	{privilege: "VM.Migrate", scopes: []Scope{Machine}},
	{privilege: "VM.Config.CDROM", scopes: []Scope{Machine}},
	{privilege: "VM.Config.CPU", scopes: []Scope{Machine}},
	{privilege: "VM.Config.Cloudinit", scopes: []Scope{Machine}},
	{privilege: "VM.Config.Disk", scopes: []Scope{Machine}},
	{privilege: "VM.Config.HWType", scopes: []Scope{Machine}},
	{privilege: "VM.Config.Memory", scopes: []Scope{Machine}},
	{privilege: "VM.Config.Network", scopes: []Scope{Machine}},
	{privilege: "VM.Config.Options", scopes: []Scope{Machine}},
	{privilege: "VM.PowerMgmt", scopes: []Scope{Machine}},
	// Plugging a VM into a bridge (F13).
	{privilege: "SDN.Use", scopes: []Scope{Bridge}},
	// Resource mappings of GPUs (F14).
	{privilege: "Mapping.Audit", scopes: []Scope{Mapping}},
	{privilege: "Mapping.Modify", scopes: []Scope{Mapping}},
	{privilege: "Mapping.Use", scopes: []Scope{Mapping}},
	// Pools.
	{privilege: "Pool.Allocate", scopes: []Scope{Pool}},
	{privilege: "Pool.Audit", scopes: []Scope{Pool}},
	// Asking the guest agent what it knows.
	{privilege: "VM.Monitor", scopes: []Scope{GuestAgent}, until: nine},
	{privilege: "VM.GuestAgent.Audit", scopes: []Scope{GuestAgent}, since: nine},
}

// Need is what a role is made for.
type Need struct {
	// Release of the host.
	Release Release
	// GuestAgent says that there are images with QEMU's guest agent. Only then is there somebody to ask, and VM.Monitor, which
	// Proxmox VE 8 has for that, opens QEMU's monitor as well.
	GuestAgent bool
}

// Privileges of the role.
func (n Need) Privileges() []string {
	return privileges(n.Release, func(g grant) bool { return n.GuestAgent || !slices.Contains(g.scopes, GuestAgent) })
}

// On are the privileges of the role that are needed on every path of a scope.
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
