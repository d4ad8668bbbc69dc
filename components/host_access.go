package components

import (
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostAccess is who may do what in Proxmox VE. Roles, groups, users and permissions that exist are adopted; those that are made here are
// deleted when they are left out. A change that would take a privilege from the token of the provider is refused. Every change is applied in
// place.
type HostAccess struct {
	// Roles are sets of privileges. Default: none.
	Roles []HostRole
	// Groups are groups of users. Default: none.
	Groups []HostGroup
	// Users are users of a realm. Default: none.
	Users []HostUser
}

// HostRole is a set of privileges.
type HostRole struct {
	// Name is the ID in Proxmox VE; names that begin with PVE are its own. Required. A change makes another role.
	Name string
	// Privileges are all that the role has, such as VM.Audit. Required. A change is applied in place.
	Privileges []string
}

// HostGroup is a group of users.
type HostGroup struct {
	// Name is the ID in Proxmox VE. Required. A change makes another group.
	Name string
	// Comment of the group. Default: that which it has. A change is applied in place.
	Comment string
	// Permissions of the group. Default: none. A change is applied in place.
	Permissions []HostPermission
}

// HostUser is a user of a realm. A password is set on the host: `pveum passwd USER`.
type HostUser struct {
	// ID is USER@REALM. Required. A change makes another user.
	ID string
	// Comment and Email of the user. Default: those which it has. A change is applied in place.
	Comment, Email string
	// Disabled is whether the user may not log in. Default: false. A change is applied in place, and at once.
	Disabled bool
	// Expires is when the user can no longer log in. Default: never. A change is applied in place, and at once.
	Expires time.Time
	// Groups that the user is in. Default: those which it is in. A group that is added is joined in place; one that is left out is not left.
	Groups []string
	// Permissions of the user. Default: none. A change is applied in place.
	Permissions []HostPermission
}

// HostPermission is a role on a path.
type HostPermission struct {
	// Path such as /vms/101 or /storage. Required. A change takes the former permission away.
	Path string
	// Role that holds there. Required. A change takes the former permission away.
	Role string
	// Here is whether the role holds on the path alone, and not below it. Default: false. A change is applied in place.
	Here bool
}

// newHostAccess registers the Command that makes the access control. What it prints names what it has made, and pulumi-command passes that to
// updates and to the delete.
func newHostAccess(ctx *pulumi.Context, name string, access HostAccess, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment["EM_INFRA_HOST_ACCESS"] = pulumi.String(access.Spec().Text())
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " host access apply"),
		Delete:      pulumi.String(Tool + " host access release"),
		Environment: environment,
	}, opts...)
}

// HostAccessName returns the logical name of the access control.
func HostAccessName(name string) string { return name + "-access" }

// Spec returns the access control in the form that the tool reads.
func (a HostAccess) Spec() hostspec.Access {
	var wanted hostspec.Access
	for _, role := range a.Roles {
		wanted.Roles = append(wanted.Roles, hostspec.Role(role))
	}
	for _, group := range a.Groups {
		wanted.Groups = append(wanted.Groups, hostspec.Group{Name: group.Name, Comment: group.Comment})
		wanted.Grants = append(wanted.Grants, grantsOf(hostspec.HolderGroup, group.Name, group.Permissions)...)
	}
	for _, user := range a.Users {
		one := hostspec.User{ID: user.ID, Comment: user.Comment, Email: user.Email, Disabled: user.Disabled, Groups: user.Groups}
		if !user.Expires.IsZero() {
			one.Expires = user.Expires.Unix()
		}
		wanted.Users = append(wanted.Users, one)
		wanted.Grants = append(wanted.Grants, grantsOf(hostspec.HolderUser, user.ID, user.Permissions)...)
	}
	return wanted
}

func grantsOf(kind hostspec.Holder, holder string, permissions []HostPermission) []hostspec.Grant {
	var grants []hostspec.Grant
	for _, p := range permissions {
		grants = append(grants, hostspec.Grant{Path: p.Path, Role: p.Role, Kind: kind, Holder: holder, Here: p.Here})
	}
	return grants
}

func (a HostAccess) validate(at string) error {
	var problems []error
	check := func(form limits.Name, name, field string) {
		problems = append(problems, require(name != "", at+field, "it is missing: give it"), requireName(form, name, at+field))
	}
	permissions := func(all []HostPermission, field string) {
		for i, p := range all {
			check(limits.AccessPath, p.Path, fmt.Sprintf("%s.Permissions[%d].Path", field, i))
			check(limits.Role, p.Role, fmt.Sprintf("%s.Permissions[%d].Role", field, i))
		}
	}
	for i, role := range a.Roles {
		field := fmt.Sprintf(".Roles[%d]", i)
		check(limits.OwnRole, role.Name, field+".Name")
		problems = append(problems, require(len(role.Privileges) > 0, at+field+".Privileges", "name one privilege at least"))
		for p, privilege := range role.Privileges {
			check(limits.Privilege, privilege, fmt.Sprintf("%s.Privileges[%d]", field, p))
		}
	}
	for i, group := range a.Groups {
		field := fmt.Sprintf(".Groups[%d]", i)
		check(limits.Group, group.Name, field+".Name")
		permissions(group.Permissions, field)
	}
	for i, user := range a.Users {
		field := fmt.Sprintf(".Users[%d]", i)
		check(limits.User, user.ID, field+".ID")
		permissions(user.Permissions, field)
		for g, group := range user.Groups {
			check(limits.Group, group, fmt.Sprintf("%s.Groups[%d]", field, g))
		}
	}
	return errors.Join(problems...)
}
