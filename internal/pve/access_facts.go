package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/permission"
)

// presentAccess is the access control of a host as a token sees it.
type presentAccess struct {
	roles  []presentRole
	groups []presentGroup
	users  []presentUser
	grants []hostspec.Grant
}

type presentRole struct {
	Name       string `json:"roleid"`
	Privileges string `json:"privs"`
}

type presentGroup struct {
	Name    string `json:"groupid"`
	Comment string `json:"comment"`
}

type presentUser struct {
	ID      string `json:"userid"`
	Comment string `json:"comment"`
	Email   string `json:"email"`
	Enabled Flag   `json:"enable"`
	Expires int64  `json:"expire"`
	Groups  string `json:"groups"`
	Tokens  []struct {
		Name      string `json:"tokenid"`
		Separated Flag   `json:"privsep"`
	} `json:"tokens"`
}

// readAccess reads the access control. Proxmox VE lists what the token may see and refuses nothing (pve-access-control, PVE/API2/User.pm,
// Group.pm, ACL.pm, index), so a token that does not see everything is refused here.
func readAccess(ctx context.Context, reader Reader) (p presentAccess, err error) {
	for _, path := range []string{"/access", "/access/groups"} {
		privileges, err := reader.Privileges(ctx, path)
		if err != nil {
			return presentAccess{}, fmt.Errorf("the privileges of the token on %s cannot be read (%w): mend that, then run again", path, err)
		}
		if !slices.Contains(privileges, "Sys.Audit") {
			return presentAccess{}, fmt.Errorf("the token does not see all users and permissions: give it Sys.Audit on %s, then run again", path)
		}
	}
	var entries []grant
	for _, one := range []struct {
		into  any
		path  string
		query []string
	}{
		{&p.roles, "/access/roles", nil},
		{&p.groups, "/access/groups", nil},
		{&p.users, "/access/users", []string{"full", "1"}},
		{&entries, "/access/acl", nil},
	} {
		if err := reader.get(ctx, one.into, one.path, one.query...); err != nil {
			return presentAccess{}, fmt.Errorf("the access control cannot be read at %s (%w): mend that, then run again", one.path, err)
		}
	}
	for _, entry := range entries {
		p.grants = append(p.grants, hostspec.Grant{
			Path: entry.Path, Role: entry.Role, Kind: hostspec.Holder(entry.Type), Holder: entry.Subject, Here: !bool(entry.Propagate),
		})
	}
	return p, nil
}

func (p presentAccess) role(name string) (presentRole, bool) {
	at := slices.IndexFunc(p.roles, func(r presentRole) bool { return r.Name == name })
	if at < 0 {
		return presentRole{}, false
	}
	return p.roles[at], true
}

func (p presentAccess) group(name string) (presentGroup, bool) {
	at := slices.IndexFunc(p.groups, func(g presentGroup) bool { return g.Name == name })
	if at < 0 {
		return presentGroup{}, false
	}
	return p.groups[at], true
}

func (p presentAccess) user(id string) (presentUser, bool) {
	at := slices.IndexFunc(p.users, func(u presentUser) bool { return u.ID == id })
	if at < 0 {
		return presentUser{}, false
	}
	return p.users[at], true
}

// privileges returns the privileges, sorted.
func (r presentRole) privileges() []string { return sortedWords(r.Privileges) }

func (u presentUser) groups() []string { return sortedWords(u.Groups) }

// sortedWords returns the items of a comma-separated list, sorted.
func sortedWords(list string) []string {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(words)
	return words
}

// list returns the access control list, for the evaluation of privileges at a time in seconds since 1970.
func (p presentAccess) list(now int64) permission.List {
	l := permission.List{Roles: map[string][]string{}, Groups: map[string][]string{}, Separated: map[string]bool{}, Grants: p.grants}
	for _, role := range p.roles {
		l.Roles[role.Name] = role.privileges()
	}
	for _, user := range p.users {
		if !bool(user.Enabled) || user.Expires != 0 && user.Expires <= now {
			continue
		}
		l.Groups[user.ID] = user.groups()
		for _, token := range user.Tokens {
			l.Separated[user.ID+"!"+token.Name] = bool(token.Separated)
		}
	}
	return l
}

// has reports whether the object exists that a name stands for. The name is one in the list of what a stack has made.
func (p presentAccess) has(name string) bool {
	return slices.ContainsFunc(p.roles, func(r presentRole) bool { return madeRole(r.Name) == name }) ||
		slices.ContainsFunc(p.groups, func(g presentGroup) bool { return madeGroup(g.Name) == name }) ||
		slices.ContainsFunc(p.users, func(u presentUser) bool { return madeUser(u.ID) == name }) ||
		slices.ContainsFunc(p.grants, func(g hostspec.Grant) bool { return madeGrant(g) == name })
}
