// Package permission evaluates an access control list of Proxmox VE: which privileges a user or a token has on a path
// (pve-access-control, PVE/AccessControl.pm, roles; PVE/RPCEnvironment.pm, permissions). Pure.
package permission

import (
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// Administrator is the user that may do everything.
const Administrator = "root@pam"

// NoAccess is the role that takes all privileges away.
const NoAccess = "NoAccess"

// List is an access control list with the roles, groups and tokens that its entries refer to.
type List struct {
	// Roles are the privileges of each role.
	Roles map[string][]string
	// Groups are the groups of each user that can log in.
	Groups map[string][]string
	// Separated are the tokens USER@REALM!NAME, and whether each has privileges of its own. Others have those of their user.
	Separated map[string]bool
	// Grants are the entries.
	Grants []hostspec.Grant
}

// Privileges returns the privileges of a user or a token on a path, without those that it has by a pool.
func (l List) Privileges(identity, path string) map[string]bool {
	user, _ := hostspec.TokenOf(identity)
	if user == identity {
		return l.ofUser(user, path)
	}
	separated, exists := l.Separated[identity]
	if !exists {
		return nil
	}
	privileges := l.ofUser(user, path)
	if separated {
		own := l.along(path, func(at string) []hostspec.Grant { return l.of(hostspec.HolderToken, []string{identity}, at, path) })
		maps.DeleteFunc(privileges, func(privilege string, _ bool) bool { return !own[privilege] })
	}
	return privileges
}

func (l List) ofUser(user, path string) map[string]bool {
	groups, exists := l.Groups[user]
	switch {
	case !exists:
		return nil
	case user == Administrator:
		return l.privilegesOf([]hostspec.Grant{{Role: "Administrator"}})
	}
	return l.along(path, func(at string) []hostspec.Grant {
		if own := l.of(hostspec.HolderUser, []string{user}, at, path); len(own) > 0 {
			return own
		}
		return l.of(hostspec.HolderGroup, groups, at, path)
	})
}

// along follows a path from its root. The entries of a step replace those of the steps before.
func (l List) along(path string, at func(step string) []hostspec.Grant) map[string]bool {
	var grants []hostspec.Grant
	for _, step := range steps(path) {
		if here := at(step); len(here) > 0 {
			grants = here
		}
	}
	return l.privilegesOf(grants)
}

// of returns the entries of holders at a step that hold on the path.
func (l List) of(kind hostspec.Holder, holders []string, step, path string) []hostspec.Grant {
	var found []hostspec.Grant
	for _, grant := range l.Grants {
		if grant.Path == step && grant.Kind == kind && slices.Contains(holders, grant.Holder) && (!grant.Here || step == path) {
			found = append(found, grant)
		}
	}
	return found
}

func (l List) privilegesOf(grants []hostspec.Grant) map[string]bool {
	privileges := map[string]bool{}
	for _, grant := range grants {
		if grant.Role == NoAccess {
			return nil
		}
		for _, privilege := range l.Roles[grant.Role] {
			privileges[privilege] = true
		}
	}
	return privileges
}

// steps returns /, /vms and /vms/101 for /vms/101.
func steps(path string) []string {
	all := []string{"/"}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	if path != "/" {
		all = append(all, path)
	}
	return all
}

// Lost returns what an identity may do by one list and not by another, such as "VM.Audit on /vms", on all paths that an entry names, and below
// them.
func Lost(before, after List, identity string) []string {
	paths := map[string]bool{"/": true}
	for _, grant := range slices.Concat(before.Grants, after.Grants) {
		paths[grant.Path] = true
	}
	var lost []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		here := lostOn(before, after, identity, path)
		for _, privilege := range here {
			lost = append(lost, privilege+" on "+path)
		}
		// A path that no entry names stands for all below.
		for _, privilege := range lostOn(before, after, identity, strings.TrimSuffix(path, "/")+"/-") {
			if !slices.Contains(here, privilege) {
				lost = append(lost, privilege+" below "+path)
			}
		}
	}
	return lost
}

func lostOn(before, after List, identity, path string) []string {
	has := after.Privileges(identity, path)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before.Privileges(identity, path))), func(privilege string) bool { return has[privilege] })
}
