package hosts

import (
	"time"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Access is who may do what in Proxmox VE. What exists is adopted; what was made here is deleted when it is left out. A change that would take a
// privilege from the token that em-infra works with is refused. Every change is applied in place, and at once.
type Access struct {
	// Roles are sets of privileges. Default: none.
	Roles []Role `yaml:"roles" max:"64"`
	// Groups are groups of users. Default: none.
	Groups []Group `yaml:"groups" max:"64"`
	// Users are users of a realm. Default: none.
	Users []User `yaml:"users" max:"256"`
}

// Role is a set of privileges.
type Role struct {
	// Name of the role; names that begin with PVE are those of Proxmox VE. Required. A change makes another role.
	Name string `yaml:"name" required:"true"`
	// Privileges are all that the role has, e.g. VM.Audit. Required. A change is applied in place.
	Privileges []string `yaml:"privileges" required:"true" min:"1" max:"128"`
}

// Group is a group of users.
type Group struct {
	// Name of the group. Required. A change makes another group.
	Name string `yaml:"name" required:"true"`
	// Comment of the group, in one line. Default: that which it has. A change is applied in place.
	Comment string `yaml:"comment"`
	// Permissions of the group. Default: none. A change is applied in place.
	Permissions []Permission `yaml:"permissions" max:"128"`
}

// User is a user of a realm. Its password is set on the host, with `pveum passwd USER`.
type User struct {
	// ID of the user, USER@REALM, e.g. backup@pve. Required. A change makes another user.
	ID string `yaml:"id" required:"true"`
	// Comment of the user, in one line. Default: that which it has. A change is applied in place.
	Comment string `yaml:"comment"`
	// Email of the user. Default: that which it has. A change is applied in place.
	Email string `yaml:"email"`
	// Enabled is whether the user may log in. Default: true. A change is applied in place.
	Enabled bool `yaml:"enabled" default:"true"`
	// Expires is the day, in UTC, from which on the user can no longer log in, e.g. 2027-06-30. Default: none. A change is applied in place.
	Expires Day `yaml:"expires"`
	// Groups that the user is in, beside those that it is in already. Default: none. A change is applied in place.
	Groups []string `yaml:"groups" max:"64"`
	// Permissions of the user, which replace those of its groups on the same path. Default: none. A change is applied in place.
	Permissions []Permission `yaml:"permissions" max:"128"`
	// Tokens are API tokens of the user, for other programs. Default: none. Their secrets are in the output proxmoxTokens. A token that is left
	// out is deleted; one that exists and was not made here is refused, since Proxmox VE shows a secret only once.
	Tokens []Token `yaml:"tokens" max:"32"`
}

// Token is an API token.
type Token struct {
	// Name of the token. Required. A change makes another token, with another secret.
	Name string `yaml:"name" required:"true"`
	// Comment of the token, in one line; the name of the stack follows it. Default: none. A change is applied in place.
	Comment string `yaml:"comment"`
	// Expires is the day, in UTC, on which the token ends, e.g. 2027-06-30. Default: none. A change is applied in place.
	Expires Day `yaml:"expires"`
	// Separated is whether the token has the privileges of its permissions alone, and not those of its user. Default: true. A change is applied in
	// place.
	Separated bool `yaml:"separated" default:"true"`
	// Permissions of a separated token, which has only those that its user has, too. Default: none. A change is applied in place.
	Permissions []Permission `yaml:"permissions" max:"128"`
}

// Permission is a role on a path.
type Permission struct {
	// Path of the permission, e.g. /vms or /storage/backups. Required. A change takes the former permission away.
	Path string `yaml:"path" required:"true"`
	// Role that holds there: one of this file, or one that Proxmox VE has, e.g. PVEAuditor. Required. A change takes the former permission away.
	Role string `yaml:"role" required:"true"`
	// Propagate is whether the role holds below the path, too. Default: true. A change is applied in place.
	Propagate bool `yaml:"propagate" default:"true"`
}

// Day is a day in UTC, as 2027-06-30.
type Day string

// UnmarshalText reads a day.
func (d *Day) UnmarshalText(text []byte) error {
	if _, err := time.Parse(time.DateOnly, string(text)); err != nil {
		return &strictyaml.Fault{What: "is no day", Rule: "year-month-day", Do: "write one like 2027-06-30"}
	}
	*d = Day(text)
	return nil
}

// Time returns the beginning of the day in UTC; the zero time for no day.
func (d Day) Time() time.Time {
	begin, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{} // it is empty: others are refused when they are read
	}
	return begin
}
