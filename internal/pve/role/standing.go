package role

import (
	"fmt"
	"slices"
	"strings"
)

// Standing is the existing role and token on a host.
type Standing struct {
	// RoleFound is whether a role of that name exists; Role are its privileges.
	RoleFound bool
	Role      []string
	// Effective are the token's privileges on /.
	Effective []string
}

// MissingFromRole returns the privileges that the existing role lacks.
func (s Standing) MissingFromRole(need Need) []string { return missing(need, s.Role) }

// MissingFromToken returns the privileges that the token lacks on /.
func (s Standing) MissingFromToken(need Need) []string { return missing(need, s.Effective) }

// SuperfluousInRole returns privileges of the existing role that this program needs for no inventory.
func (s Standing) SuperfluousInRole(need Need) []string {
	needed := Need{Release: need.Release, GuestAgent: true, Snapshots: true, Backups: true}.Privileges()
	extra := slices.DeleteFunc(slices.Clone(s.Role), func(name string) bool { return slices.Contains(needed, name) })
	slices.Sort(extra)
	return extra
}

// Repairs returns the commands, to be run as root, that give the token of a connection all privileges of the role.
func Repairs(need Need, token Token, standing Standing) []string {
	var commands []string
	lacking := standing.MissingFromRole(need)
	switch {
	case !standing.RoleFound:
		commands = append(commands, roleCommand("add", need))
	case len(lacking) > 0:
		commands = append(commands, fmt.Sprintf(`pveum role modify %s --append 1 --privs "%s"`, Name, strings.Join(lacking, " ")))
	}
	// Privileges that only the role lacks are in the token once the role is repaired.
	given := slices.Concat(standing.Effective, lacking)
	if len(missing(need, given)) > 0 || !standing.RoleFound && len(standing.MissingFromToken(need)) > 0 {
		commands = append(commands,
			"pveum acl modify / --users "+token.User+" --roles "+Name,
			fmt.Sprintf("pveum acl modify / --tokens '%s' --roles %s", token, Name))
	}
	return commands
}

func missing(need Need, has []string) []string {
	return slices.DeleteFunc(need.Privileges(), func(name string) bool { return slices.Contains(has, name) })
}
