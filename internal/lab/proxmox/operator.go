package proxmox

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// OperatorRole is the name of the documented role.
const OperatorRole = role.Name

// OperatorPrivileges returns the privileges of the documented role, for any inventory.
func OperatorPrivileges(release schema.Release) []string {
	known, _ := role.ParseRelease(string(release)) // every release of the schema parses
	return role.Need{Release: known, GuestAgent: true, Snapshots: true, Backups: true}.Privileges()
}
