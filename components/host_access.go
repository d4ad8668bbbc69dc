package components

import (
	"errors"
	"fmt"
	"slices"
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
	var roles, groups, users []string
	for i, role := range a.Roles {
		problems = append(problems, role.validate(fmt.Sprintf("%s.Roles[%d]", at, i), slices.Contains(roles, role.Name)))
		roles = append(roles, role.Name)
	}
	for i, group := range a.Groups {
		at := fmt.Sprintf("%s.Groups[%d]", at, i)
		problems = append(problems, requireNew(limits.Group, group.Name, slices.Contains(groups, group.Name), at+".Name"), validatePermissions(group.Permissions, at))
		groups = append(groups, group.Name)
	}
	for i, user := range a.Users {
		at := fmt.Sprintf("%s.Users[%d]", at, i)
		problems = append(problems, requireNew(limits.User, user.ID, slices.Contains(users, user.ID), at+".ID"), validatePermissions(user.Permissions, at))
		users = append(users, user.ID)
		for g, group := range user.Groups {
			problems = append(problems, requireNew(limits.Group, group, slices.Contains(user.Groups[:g], group), fmt.Sprintf("%s.Groups[%d]", at, g)))
		}
	}
	return errors.Join(problems...)
}

func (r HostRole) validate(at string, isTaken bool) error {
	problems := []error{
		requireNew(limits.OwnRole, r.Name, isTaken, at+".Name"),
		require(len(r.Privileges) > 0, at+".Privileges", "name one privilege at least"),
	}
	for i, privilege := range r.Privileges {
		problems = append(problems, requireNew(limits.Privilege, privilege, slices.Contains(r.Privileges[:i], privilege), fmt.Sprintf("%s.Privileges[%d]", at, i)))
	}
	return errors.Join(problems...)
}

func validatePermissions(permissions []HostPermission, at string) error {
	var problems []error
	for i, p := range permissions {
		at := fmt.Sprintf("%s.Permissions[%d]", at, i)
		same := func(other HostPermission) bool { return other.Path == p.Path && other.Role == p.Role }
		problems = append(problems, requireNew(limits.AccessPath, p.Path, false, at+".Path"), requireNew(limits.Role, p.Role, false, at+".Role"),
			require(slices.IndexFunc(permissions, same) == i, at, p.Role+" on "+p.Path+" is given twice: remove one of the two"))
	}
	return errors.Join(problems...)
}

// requireNew refuses a text that is missing, has not the form that Proxmox VE requires, or is given twice.
func requireNew(form limits.Name, text string, isTaken bool, at string) error {
	return errors.Join(
		require(text != "", at, "it is missing: give it"),
		require(text == "" || form.Matches(text), at, fmt.Sprintf("%q is not %s: correct it", text, form.Words)),
		require(text == "" || !isTaken, at, fmt.Sprintf("%q is given twice: remove one of the two", text)),
	)
}
