package pve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// accessChange is one call that changes the access control.
type accessChange struct {
	// sentence is what it does.
	sentence string
	method   string
	path     string
	params   map[string]any
	// made names what the call creates, and gone what it deletes, in the list of what a stack has made; both are empty for a change.
	made, gone string
}

// accessPlan is the changes in their order, and the access control after them.
type accessPlan struct {
	changes       []accessChange
	before, after presentAccess
}

func (p *accessPlan) add(change accessChange) { p.changes = append(p.changes, change) }

// The names of what a stack has made, in the outputs of its Command.
func madeRole(name string) string           { return "role " + name }
func madeGroup(name string) string          { return "group " + name }
func madeUser(id string) string             { return "user " + id }
func madeGrant(grant hostspec.Grant) string { return "permission " + grant.String() }

// planAccess returns the changes from the present to the wanted access control. What the stack has made and no longer wants goes, the
// permissions first, since they name the rest.
func planAccess(present presentAccess, wanted hostspec.Access, made []string) accessPlan {
	p := accessPlan{before: present, after: present}
	for _, role := range wanted.Roles {
		p.role(role)
	}
	for _, group := range wanted.Groups {
		p.group(group)
	}
	for _, user := range wanted.Users {
		p.user(user)
	}
	for _, grant := range wanted.Grants {
		p.grant(grant)
	}
	p.removeGrants(present, wanted, made)
	p.removeHolders(present, wanted, made)
	return p
}

func (p *accessPlan) role(wanted hostspec.Role) {
	privileges := slices.Sorted(slices.Values(wanted.Privileges))
	params := map[string]any{"privs": strings.Join(privileges, ",")}
	present, there := p.after.role(wanted.Name)
	next := presentRole{Name: wanted.Name, Privileges: strings.Join(privileges, ",")}
	switch {
	case !there:
		params["roleid"] = wanted.Name
		p.add(accessChange{"role " + wanted.Name + " is made", http.MethodPost, "/access/roles", params, madeRole(wanted.Name), ""})
		p.after.roles = append(slices.Clone(p.after.roles), next)
	case !slices.Equal(present.privileges(), privileges):
		sentence := fmt.Sprintf("role %s: %s", wanted.Name, setDifference(present.privileges(), privileges))
		p.add(accessChange{sentence, http.MethodPut, "/access/roles/" + url.PathEscape(wanted.Name), params, "", ""})
		p.after.roles = replaced(p.after.roles, next, func(r presentRole) bool { return r.Name == wanted.Name })
	}
}

func (p *accessPlan) group(wanted hostspec.Group) {
	present, there := p.after.group(wanted.Name)
	next := presentGroup{Name: wanted.Name, Comment: wanted.Comment}
	switch {
	case !there:
		p.add(accessChange{
			"group " + wanted.Name + " is made", http.MethodPost, "/access/groups", map[string]any{"groupid": wanted.Name, "comment": wanted.Comment},
			madeGroup(wanted.Name), "",
		})
		p.after.groups = append(slices.Clone(p.after.groups), next)
	case wanted.Comment != "" && present.Comment != wanted.Comment:
		p.add(accessChange{
			fmt.Sprintf("group %s: comment %q → %q", wanted.Name, present.Comment, wanted.Comment), http.MethodPut,
			"/access/groups/" + url.PathEscape(wanted.Name), map[string]any{"comment": wanted.Comment}, "", "",
		})
	}
}

func (p *accessPlan) user(wanted hostspec.User) {
	present, there := p.after.user(wanted.ID)
	next := present
	next.ID, next.Enabled, next.Expires = wanted.ID, Flag(!wanted.Disabled), wanted.Expires
	groups := slices.Compact(slices.Sorted(slices.Values(slices.Concat(present.groups(), wanted.Groups))))
	next.Groups = strings.Join(groups, ",")
	next.Comment, next.Email = orPresent(wanted.Comment, present.Comment), orPresent(wanted.Email, present.Email)
	params := map[string]any{
		"comment": next.Comment, "email": next.Email, "enable": flagOf(bool(next.Enabled)), "expire": next.Expires, "groups": next.Groups,
	}
	if !there {
		params["userid"] = wanted.ID
		p.add(accessChange{"user " + wanted.ID + " is made", http.MethodPost, "/access/users", params, madeUser(wanted.ID), ""})
		p.after.users = append(slices.Clone(p.after.users), next)
		return
	}
	if differences := userDifferences(present, next); len(differences) > 0 {
		sentence := fmt.Sprintf("user %s: %s", wanted.ID, strings.Join(differences, ", "))
		p.add(accessChange{sentence, http.MethodPut, "/access/users/" + url.PathEscape(wanted.ID), params, "", ""})
		p.after.users = replaced(p.after.users, next, func(u presentUser) bool { return u.ID == wanted.ID })
	}
}

func userDifferences(present, next presentUser) []string {
	var differences []string
	note := func(what string, before, after any) {
		if before != after {
			differences = append(differences, fmt.Sprintf("%s %v → %v", what, before, after))
		}
	}
	note("comment", fmt.Sprintf("%q", present.Comment), fmt.Sprintf("%q", next.Comment))
	note("email", fmt.Sprintf("%q", present.Email), fmt.Sprintf("%q", next.Email))
	note("may log in", bool(present.Enabled), bool(next.Enabled))
	note("expires", endOf(present.Expires), endOf(next.Expires))
	if !slices.Equal(present.groups(), next.groups()) {
		differences = append(differences, "groups "+setDifference(present.groups(), next.groups()))
	}
	return differences
}

func (p *accessPlan) grant(wanted hostspec.Grant) {
	if slices.Contains(p.after.grants, wanted) {
		return
	}
	made := madeGrant(wanted)
	// Another entry that differs only in its reach is changed by the same call (AccessControl.pm, modify_acl).
	other := wanted
	other.Here = !wanted.Here
	if slices.Contains(p.after.grants, other) {
		made = ""
	}
	p.add(accessChange{"permission: " + wanted.String(), http.MethodPut, "/access/acl", grantParams(wanted, false), made, ""})
	p.after.grants = append(slices.DeleteFunc(slices.Clone(p.after.grants), func(g hostspec.Grant) bool { return g == other }), wanted)
}

func grantParams(grant hostspec.Grant, remove bool) map[string]any {
	return map[string]any{
		"path": grant.Path, "roles": grant.Role, string(grant.Kind) + "s": grant.Holder, "propagate": flagOf(!grant.Here), "delete": flagOf(remove),
	}
}

func (p *accessPlan) removeGrants(present presentAccess, wanted hostspec.Access, made []string) {
	for _, grant := range present.grants {
		if slices.Contains(made, madeGrant(grant)) && !slices.Contains(wanted.Grants, grant) {
			p.add(accessChange{"permission is taken away: " + grant.String(), http.MethodPut, "/access/acl", grantParams(grant, true), "", madeGrant(grant)})
			p.after.grants = slices.DeleteFunc(slices.Clone(p.after.grants), func(g hostspec.Grant) bool { return g == grant })
		}
	}
}

// removeHolders deletes users, then the groups that they were in, then roles. Proxmox VE deletes the entries of a user or a group in the
// access control list with it, and leaves those of a role.
func (p *accessPlan) removeHolders(present presentAccess, wanted hostspec.Access, made []string) {
	remove := func(name, path string) {
		p.add(accessChange{name + " is deleted", http.MethodDelete, path, nil, "", name})
	}
	for _, user := range present.users {
		if slices.Contains(made, madeUser(user.ID)) && !slices.ContainsFunc(wanted.Users, func(u hostspec.User) bool { return u.ID == user.ID }) {
			remove(madeUser(user.ID), "/access/users/"+url.PathEscape(user.ID))
			p.after.users = slices.DeleteFunc(slices.Clone(p.after.users), func(u presentUser) bool { return u.ID == user.ID })
		}
	}
	for _, group := range present.groups {
		if slices.Contains(made, madeGroup(group.Name)) && !slices.ContainsFunc(wanted.Groups, func(g hostspec.Group) bool { return g.Name == group.Name }) {
			remove(madeGroup(group.Name), "/access/groups/"+url.PathEscape(group.Name))
			p.after.grants = slices.DeleteFunc(slices.Clone(p.after.grants), func(g hostspec.Grant) bool {
				return g.Kind == hostspec.HolderGroup && g.Holder == group.Name
			})
		}
	}
	for _, role := range present.roles {
		if slices.Contains(made, madeRole(role.Name)) && !slices.ContainsFunc(wanted.Roles, func(r hostspec.Role) bool { return r.Name == role.Name }) {
			remove(madeRole(role.Name), "/access/roles/"+url.PathEscape(role.Name))
			p.after.roles = slices.DeleteFunc(slices.Clone(p.after.roles), func(r presentRole) bool { return r.Name == role.Name })
		}
	}
}

// setDifference returns a change of a set in words, such as "VM.Audit comes, VM.Backup goes".
func setDifference(before, after []string) string {
	var words []string
	for _, item := range after {
		if !slices.Contains(before, item) {
			words = append(words, item+" comes")
		}
	}
	for _, item := range before {
		if !slices.Contains(after, item) {
			words = append(words, item+" goes")
		}
	}
	return strings.Join(words, ", ")
}

func replaced[T any](all []T, next T, is func(T) bool) []T {
	all = slices.Clone(all)
	all[slices.IndexFunc(all, is)] = next
	return all
}

// endOf returns a time in seconds since 1970 as a day, or never.
func endOf(seconds int64) string {
	if seconds == 0 {
		return "never"
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

func orPresent(wanted, present string) string {
	if wanted == "" {
		return present
	}
	return wanted
}
