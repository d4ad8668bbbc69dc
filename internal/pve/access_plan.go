package pve

import (
	"errors"
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
	// after is the access control after the call.
	after presentAccess
}

// accessPlan is the changes in their order, and the access control after them.
type accessPlan struct {
	changes       []accessChange
	before, after presentAccess
}

// add adds a change, and what the access control is after it.
func (p *accessPlan) add(change accessChange, after presentAccess) {
	change.after, p.after = after, after
	p.changes = append(p.changes, change)
}

// The names of what a stack has made, in the outputs of its Command.
func madeRole(name string) string           { return "role " + name }
func madeGroup(name string) string          { return "group " + name }
func madeUser(id string) string             { return "user " + id }
func madeGrant(grant hostspec.Grant) string { return "permission " + grant.Entry().String() }

// planAccess returns the changes from the present to the wanted access control. It deletes what the stack has made and no longer wants, the
// permissions first, because they refer to the rest.
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
	privileges := slices.Compact(slices.Sorted(slices.Values(wanted.Privileges)))
	next := presentRole{Name: wanted.Name, Privileges: strings.Join(privileges, ",")}
	change := accessChange{path: "/access/roles", params: map[string]any{"privs": next.Privileges}}
	after := p.after
	present, there := p.after.role(wanted.Name)
	switch {
	case !there:
		change.method, change.sentence, change.made = http.MethodPost, "role "+wanted.Name+" is made", madeRole(wanted.Name)
		change.params["roleid"] = wanted.Name
		after.roles = append(slices.Clone(after.roles), next)
	case !slices.Equal(present.privileges(), privileges):
		change.method, change.path = http.MethodPut, "/access/roles/"+url.PathEscape(wanted.Name)
		change.sentence = fmt.Sprintf("role %s: %s", wanted.Name, setDifference(present.privileges(), privileges))
		after.roles = replaced(after.roles, next, func(r presentRole) bool { return r.Name == wanted.Name })
	default:
		return
	}
	p.add(change, after)
}

func (p *accessPlan) group(wanted hostspec.Group) {
	next := presentGroup{Name: wanted.Name, Comment: wanted.Comment}
	change := accessChange{path: "/access/groups", params: map[string]any{"comment": wanted.Comment}}
	after := p.after
	present, there := p.after.group(wanted.Name)
	switch {
	case !there:
		change.method, change.sentence, change.made = http.MethodPost, "group "+wanted.Name+" is made", madeGroup(wanted.Name)
		change.params["groupid"] = wanted.Name
		after.groups = append(slices.Clone(after.groups), next)
	case wanted.Comment != "" && present.Comment != wanted.Comment:
		change.method, change.path = http.MethodPut, "/access/groups/"+url.PathEscape(wanted.Name)
		change.sentence = fmt.Sprintf("group %s: comment %q → %q", wanted.Name, present.Comment, wanted.Comment)
		after.groups = replaced(after.groups, next, func(g presentGroup) bool { return g.Name == wanted.Name })
	default:
		return
	}
	p.add(change, after)
}

func (p *accessPlan) user(wanted hostspec.User) {
	present, there := p.after.user(wanted.ID)
	next := present
	next.ID, next.Enabled, next.Expires = wanted.ID, Flag(!wanted.Disabled), wanted.Expires
	groups := slices.Compact(slices.Sorted(slices.Values(slices.Concat(present.groups(), wanted.Groups))))
	next.Groups = strings.Join(groups, ",")
	next.Comment, next.Email = orPresent(wanted.Comment, present.Comment), orPresent(wanted.Email, present.Email)
	change := accessChange{path: "/access/users", params: map[string]any{
		"comment": next.Comment, "email": next.Email, "enable": flagOf(bool(next.Enabled)), "expire": next.Expires, "groups": next.Groups,
	}}
	after := p.after
	differences := userDifferences(present, next)
	switch {
	case !there:
		change.method, change.sentence, change.made = http.MethodPost, "user "+wanted.ID+" is made", madeUser(wanted.ID)
		change.params["userid"] = wanted.ID
		after.users = append(slices.Clone(after.users), next)
	case len(differences) > 0:
		change.method, change.path = http.MethodPut, "/access/users/"+url.PathEscape(wanted.ID)
		change.sentence = fmt.Sprintf("user %s: %s", wanted.ID, strings.Join(differences, ", "))
		after.users = replaced(after.users, next, func(u presentUser) bool { return u.ID == wanted.ID })
	default:
		return
	}
	p.add(change, after)
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
	change := grantChange("permission: "+wanted.String(), wanted, false)
	same := func(g hostspec.Grant) bool { return g.Entry() == wanted.Entry() }
	if !slices.ContainsFunc(p.after.grants, same) { // the same call changes the reach of an existing entry (AccessControl.pm, modify_acl)
		change.made = madeGrant(wanted)
	}
	after := p.after
	after.grants = append(slices.DeleteFunc(slices.Clone(after.grants), same), wanted)
	p.add(change, after)
}

// grantChange is the call that sets or removes an entry.
func grantChange(sentence string, grant hostspec.Grant, remove bool) accessChange {
	return accessChange{sentence: sentence, method: http.MethodPut, path: "/access/acl", params: map[string]any{
		"path": grant.Path, "roles": grant.Role, string(grant.Kind) + "s": grant.Holder, "propagate": flagOf(!grant.Here), "delete": flagOf(remove),
	}}
}

func (p *accessPlan) removeGrants(present presentAccess, wanted hostspec.Access, made []string) {
	for _, grant := range present.grants {
		same := func(g hostspec.Grant) bool { return g.Entry() == grant.Entry() }
		if !slices.Contains(made, madeGrant(grant)) || slices.ContainsFunc(wanted.Grants, same) {
			continue
		}
		change := grantChange("permission is taken away: "+grant.String(), grant, true)
		change.gone = madeGrant(grant)
		after := p.after
		after.grants = slices.DeleteFunc(slices.Clone(after.grants), same)
		p.add(change, after)
	}
}

// removeHolders deletes users, then the groups that they were in, then roles. Proxmox VE deletes the entries of a user or a group in the
// access control list with it, and leaves those of a role.
func (p *accessPlan) removeHolders(present presentAccess, wanted hostspec.Access, made []string) {
	deletion := func(name, path string) accessChange {
		return accessChange{sentence: name + " is deleted", method: http.MethodDelete, path: path, gone: name}
	}
	for _, user := range present.users {
		if slices.Contains(made, madeUser(user.ID)) && !slices.ContainsFunc(wanted.Users, func(u hostspec.User) bool { return u.ID == user.ID }) {
			after := p.after
			after.users = slices.DeleteFunc(slices.Clone(after.users), func(u presentUser) bool { return u.ID == user.ID })
			p.add(deletion(madeUser(user.ID), "/access/users/"+url.PathEscape(user.ID)), after)
		}
	}
	for _, group := range present.groups {
		if slices.Contains(made, madeGroup(group.Name)) && !slices.ContainsFunc(wanted.Groups, func(g hostspec.Group) bool { return g.Name == group.Name }) {
			after := p.after
			after.groups = slices.DeleteFunc(slices.Clone(after.groups), func(g presentGroup) bool { return g.Name == group.Name })
			after.grants = slices.DeleteFunc(slices.Clone(after.grants), func(g hostspec.Grant) bool {
				return g.Kind == hostspec.HolderGroup && g.Holder == group.Name
			})
			p.add(deletion(madeGroup(group.Name), "/access/groups/"+url.PathEscape(group.Name)), after)
		}
	}
	for _, role := range present.roles {
		if slices.Contains(made, madeRole(role.Name)) && !slices.ContainsFunc(wanted.Roles, func(r hostspec.Role) bool { return r.Name == role.Name }) {
			after := p.after
			after.roles = slices.DeleteFunc(slices.Clone(after.roles), func(r presentRole) bool { return r.Name == role.Name })
			p.add(deletion(madeRole(role.Name), "/access/roles/"+url.PathEscape(role.Name)), after)
		}
	}
}

// checkNames refuses a permission or a membership that names what neither the hosts nor the plan have, before anything is made.
func (p *accessPlan) checkNames(wanted hostspec.Access) error {
	var problems []error
	missing := func(what, name, by string) {
		problems = append(problems, fmt.Errorf("there is no %s %s, which %s names: add it to access, or correct the name", what, name, by))
	}
	for _, user := range wanted.Users {
		for _, group := range user.Groups {
			if _, there := p.after.group(group); !there {
				missing("group", group, "user "+user.ID)
			}
		}
	}
	for _, grant := range wanted.Grants {
		if _, there := p.after.role(grant.Role); !there {
			missing("role", grant.Role, "the permission of "+string(grant.Kind)+" "+grant.Holder+" on "+grant.Path)
		}
	}
	return errors.Join(problems...)
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
