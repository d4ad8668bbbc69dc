package stacks

import (
	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostAccessName returns the logical name of the resource that makes the access control, for code that reads a state.
func HostAccessName(inv *hosts.Inventory) string { return components.HostAccessName(inv.File.Name) }

// HostAccess returns the access control that an inventory wants, as the operations on hosts read it.
func HostAccess(inv *hosts.Inventory) hostspec.Access { return hostAccess(inv.File.Access).Spec() }

// HostTokens returns the tokens that an inventory wants, as the operations on hosts read them, by the logical names of their resources.
func HostTokens(inv *hosts.Inventory) (wanted []hostspec.Token, names []string) {
	for _, token := range hostTokens(inv) {
		wanted, names = append(wanted, token.Spec(inv.File.Name)), append(names, components.HostTokenName(inv.File.Name, token))
	}
	return wanted, names
}

func hostTokens(inv *hosts.Inventory) []components.HostToken {
	var tokens []components.HostToken
	for _, user := range inv.File.Access.Users {
		for _, token := range user.Tokens {
			tokens = append(tokens, components.HostToken{
				User: user.ID, Name: token.Name, Comment: token.Comment, Expires: token.Expires.Time(), Separated: token.Separated,
				Permissions: hostPermissions(token.Permissions),
			})
		}
	}
	return tokens
}

func hostAccess(wanted hosts.Access) components.HostAccess {
	var access components.HostAccess
	for _, role := range wanted.Roles {
		access.Roles = append(access.Roles, components.HostRole(role))
	}
	for _, group := range wanted.Groups {
		access.Groups = append(access.Groups, components.HostGroup{Name: group.Name, Comment: group.Comment, Permissions: hostPermissions(group.Permissions)})
	}
	for _, user := range wanted.Users {
		access.Users = append(access.Users, components.HostUser{
			ID: user.ID, Comment: user.Comment, Email: user.Email, Disabled: !user.Enabled, Expires: user.Expires.Time(), Groups: user.Groups,
			Permissions: hostPermissions(user.Permissions),
		})
	}
	return access
}

func hostPermissions(wanted []hosts.Permission) []components.HostPermission {
	var permissions []components.HostPermission
	for _, p := range wanted {
		permissions = append(permissions, components.HostPermission{Path: p.Path, Role: p.Role, Here: !p.Propagate})
	}
	return permissions
}
