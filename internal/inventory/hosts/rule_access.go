package hosts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// access checks roles, groups, users and permissions. A role or a group that the file does not have may be on the hosts.
func (c *checker) access() {
	access, at := c.inv.File.Access, key("access")
	roles, groups, users := map[string]*strictyaml.Path{}, map[string]*strictyaml.Path{}, map[string]*strictyaml.Path{}
	for i, role := range access.Roles {
		c.role(role, at.Key("roles").Index(i), roles)
	}
	for i, group := range access.Groups {
		at := at.Key("groups").Index(i)
		c.name(limits.Group, group.Name, at.Key("name"))
		c.unique(groups, group.Name, at.Key("name"))
		c.oneLine(group.Comment, at.Key("comment"))
		c.permissions(group.Permissions, at.Key("permissions"))
	}
	for i, user := range access.Users {
		c.user(user, at.Key("users").Index(i), users)
	}
}

func (c *checker) role(role Role, at *strictyaml.Path, taken map[string]*strictyaml.Path) {
	c.name(limits.OwnRole, role.Name, at.Key("name"))
	c.unique(taken, role.Name, at.Key("name"))
	for i, privilege := range role.Privileges {
		c.hasForm(limits.Privilege, privilege, at.Key("privileges").Index(i), "write one that `pveum role list` shows")
		c.notBefore(role.Privileges, i, at.Key("privileges"))
	}
}

// userEmail is what Proxmox VE accepts (pve-common, JSONSchema.pm, email).
var userEmail = regexp.MustCompile(`^[\w+~.-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$`)

func (c *checker) user(user User, at *strictyaml.Path, taken map[string]*strictyaml.Path) {
	c.hasForm(limits.User, user.ID, at.Key("id"), "write one like backup@pve")
	c.unique(taken, user.ID, at.Key("id"))
	c.oneLine(user.Comment, at.Key("comment"))
	if user.Email != "" && !userEmail.MatchString(user.Email) {
		c.report(at.Key("email"), fault{What: "is no address of a mailbox", Got: user.Email, Do: "write one like admin@home.example"})
	}
	for i, group := range user.Groups {
		c.name(limits.Group, group, at.Key("groups").Index(i))
		c.notBefore(user.Groups, i, at.Key("groups"))
	}
	c.permissions(user.Permissions, at.Key("permissions"))
	tokens := map[string]*strictyaml.Path{}
	for i, token := range user.Tokens {
		c.token(token, at.Key("tokens").Index(i), tokens)
	}
}

func (c *checker) token(token Token, at *strictyaml.Path, taken map[string]*strictyaml.Path) {
	c.name(limits.Token, token.Name, at.Key("name"))
	c.unique(taken, token.Name, at.Key("name"))
	c.oneLine(token.Comment, at.Key("comment"))
	c.permissions(token.Permissions, at.Key("permissions"))
	if !token.Separated && len(token.Permissions) > 0 {
		c.report(at.Key("permissions"), fault{What: "has no effect", Rule: "a token that is not separated has the permissions of its user", Do: "remove it, or write separated: true"})
	}
}

func (c *checker) permissions(permissions []Permission, at *strictyaml.Path) {
	for i, p := range permissions {
		c.hasForm(limits.AccessPath, p.Path, at.Index(i).Key("path"), "write one of these")
		c.name(limits.Role, p.Role, at.Index(i).Key("role"))
		first := slices.IndexFunc(permissions, func(other Permission) bool { return other.Path == p.Path && other.Role == p.Role })
		if p.Path != "" && p.Role != "" && first < i {
			c.report(at.Index(i), fault{What: "is the same as " + at.Index(first).String(), Rule: "a role is given once on a path", Got: p.Role + " on " + p.Path, Do: "remove one of the two"})
		}
	}
}

// oneLine reports a text of more than one line.
func (c *checker) oneLine(text string, at *strictyaml.Path) {
	if strings.ContainsAny(text, "\n\r") {
		c.report(at, fault{What: "has more than one line", Do: "write it in one line"})
	}
}

// notBefore reports an item that the list has before.
func (c *checker) notBefore(items []string, i int, at *strictyaml.Path) {
	if items[i] != "" && slices.Index(items, items[i]) < i {
		c.report(at.Index(i), fault{What: "is given twice", Got: items[i], Do: "remove one of the two"})
	}
}
