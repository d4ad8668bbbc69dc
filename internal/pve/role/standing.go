package role

import (
	"fmt"
	"slices"
	"strings"
)

// Standing is what a host has of the role.
type Standing struct {
	// RoleFound reports whether there is a role of that name, and Role what it consists of.
	RoleFound bool
	Role      []string
	// Effective are the token's privileges on /.
	Effective []string
}

// MissingFromRole returns the privileges that the standing role lacks.
func (s Standing) MissingFromRole(need Need) []string { return missing(need, s.Role) }

// MissingFromToken returns the privileges that the token lacks on /.
func (s Standing) MissingFromToken(need Need) []string { return missing(need, s.Effective) }

// SuperfluousInRole are privileges of the standing role that this program needs for no inventory.
func (s Standing) SuperfluousInRole(need Need) []string {
	needed := Need{Release: need.Release, GuestAgent: true}.Privileges()
	extra := slices.DeleteFunc(slices.Clone(s.Role), func(name string) bool { return slices.Contains(needed, name) })
	slices.Sort(extra)
	return extra
}

// Repairs returns the commands, run as root, after which the token of a connection has all that the role allows.
func Repairs(need Need, token Token, standing Standing) []string {
	var commands []string
	lacking := standing.MissingFromRole(need)
	switch {
	case !standing.RoleFound:
		commands = append(commands, roleCommand("add", need))
	case len(lacking) > 0:
		commands = append(commands, fmt.Sprintf(`pveum role modify %s --append 1 --privs "%s"`, Name, strings.Join(lacking, " ")))
	}
	// What only the role lacks, the token has once the role is mended.
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
