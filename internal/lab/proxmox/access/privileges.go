// Package access is the emulated host's user database: users, API tokens, groups, roles, pools and access control lists, and
// the privileges that follow from them.
package access

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Names of roles that every host has.
const (
	RoleAdministrator = "Administrator"
	RoleNoAccess      = "NoAccess"
)

// Root is the user with all privileges.
const Root = "root@pam"

// level determines the built-in roles of its category that contain a privilege (pve-access-control AccessControl.pm,
// privgroups).
type level int

const (
	rootLevel level = iota
	adminLevel
	userLevel
	auditLevel
)

type privilege struct {
	category string
	name     string
	level    level
	// since and until limit the releases that have the privilege; empty means no limit, until is exclusive.
	since, until schema.Release
}

// privileges is the table of pve-access-control AccessControl.pm (8.2 for Proxmox VE 8.4, 9.0 for 9.1). Proxmox VE 9
// replaced VM.Monitor by the VM.GuestAgent privileges and added VM.Replicate.
var privileges = []privilege{
	{"VM", "VM.Config.Disk", adminLevel, "", ""},
	{"VM", "VM.Config.CPU", adminLevel, "", ""},
	{"VM", "VM.Config.Memory", adminLevel, "", ""},
	{"VM", "VM.Config.Network", adminLevel, "", ""},
	{"VM", "VM.Config.HWType", adminLevel, "", ""},
	{"VM", "VM.Config.Options", adminLevel, "", ""},
	{"VM", "VM.Allocate", adminLevel, "", ""},
	{"VM", "VM.Clone", adminLevel, "", ""},
	{"VM", "VM.Migrate", adminLevel, "", ""},
	{"VM", "VM.Monitor", adminLevel, "", schema.Release91},
	{"VM", "VM.Replicate", adminLevel, schema.Release91, ""},
	{"VM", "VM.Snapshot", adminLevel, "", ""},
	{"VM", "VM.Snapshot.Rollback", adminLevel, "", ""},
	{"VM", "VM.Config.CDROM", userLevel, "", ""},
	{"VM", "VM.Config.Cloudinit", userLevel, "", ""},
	{"VM", "VM.Console", userLevel, "", ""},
	{"VM", "VM.Backup", userLevel, "", ""},
	{"VM", "VM.PowerMgmt", userLevel, "", ""},
	{"VM", "VM.GuestAgent.FileRead", userLevel, schema.Release91, ""},
	{"VM", "VM.GuestAgent.FileWrite", userLevel, schema.Release91, ""},
	{"VM", "VM.GuestAgent.FileSystemMgmt", userLevel, schema.Release91, ""},
	{"VM", "VM.GuestAgent.Unrestricted", adminLevel, schema.Release91, ""},
	{"VM", "VM.Audit", auditLevel, "", ""},
	{"VM", "VM.GuestAgent.Audit", auditLevel, schema.Release91, ""},
	{"Sys", "Sys.PowerMgmt", rootLevel, "", ""},
	{"Sys", "Sys.Modify", rootLevel, "", ""},
	{"Sys", "Sys.Incoming", rootLevel, "", ""},
	{"Sys", "Sys.AccessNetwork", rootLevel, "", ""},
	{"Sys", "Sys.Console", adminLevel, "", ""},
	{"Sys", "Sys.Syslog", adminLevel, "", ""},
	{"Sys", "Sys.Audit", auditLevel, "", ""},
	{"Datastore", "Datastore.Allocate", adminLevel, "", ""},
	{"Datastore", "Datastore.AllocateTemplate", adminLevel, "", ""},
	{"Datastore", "Datastore.AllocateSpace", userLevel, "", ""},
	{"Datastore", "Datastore.Audit", auditLevel, "", ""},
	{"SDN", "SDN.Allocate", adminLevel, "", ""},
	{"SDN", "SDN.Use", userLevel, "", ""},
	{"SDN", "SDN.Audit", auditLevel, "", ""},
	{"User", "Realm.Allocate", rootLevel, "", ""},
	{"User", "User.Modify", adminLevel, "", ""},
	{"User", "Group.Allocate", adminLevel, "", ""},
	{"User", "Realm.AllocateUser", adminLevel, "", ""},
	{"Pool", "Pool.Allocate", adminLevel, "", ""},
	{"Pool", "Pool.Audit", auditLevel, "", ""},
	{"Mapping", "Mapping.Modify", adminLevel, "", ""},
	{"Mapping", "Mapping.Use", userLevel, "", ""},
	{"Mapping", "Mapping.Audit", auditLevel, "", ""},
	{"", "Permissions.Modify", rootLevel, "", ""},
}

func (p privilege) known(release schema.Release) bool {
	return (p.since == "" || release >= p.since) && (p.until == "" || release < p.until)
}

// Privileges returns the privileges of a release, sorted.
func Privileges(release schema.Release) []string {
	var names []string

	for _, p := range privileges {
		if p.known(release) {
			names = append(names, p.name)
		}
	}

	slices.Sort(names)

	return names
}

// builtinRoles returns the built-in roles of a host (AccessControl.pm, create_roles).
func builtinRoles(release schema.Release) map[string][]string {
	roles := map[string][]string{
		RoleNoAccess:      {},
		RoleAdministrator: Privileges(release),
		"PVETemplateUser": {"VM.Audit", "VM.Clone"},
	}
	add := func(role, name string) {
		if !slices.Contains(roles[role], name) {
			roles[role] = append(roles[role], name)
		}
	}

	for _, p := range privileges {
		if !p.known(release) || p.level == rootLevel {
			continue
		}

		add("PVE"+p.category+"Admin", p.name)

		// PVEAdmin lacks the one privilege that gives access to the host itself.
		if p.name != "Mapping.Modify" {
			add("PVEAdmin", p.name)
		}

		if p.level != adminLevel && hasUserRole(p.category) {
			add("PVE"+p.category+"User", p.name)
		}

		if p.level == auditLevel {
			add("PVEAuditor", p.name)
		}
	}

	for role := range roles {
		slices.Sort(roles[role])
	}

	return roles
}

func hasUserRole(category string) bool {
	if category == "Pool" {
		return true
	}

	return slices.ContainsFunc(privileges, func(p privilege) bool {
		return p.category == category && p.level == userLevel
	})
}

// Owner returns the user of an authenticated identity: the identity itself, or the user of a token.
func Owner(identity string) string {
	user, _, _ := strings.Cut(identity, "!")
	return user
}
