package access

import (
	"fmt"
	"slices"
	"strings"
)

// Permissions are the privileges of an identity on a path. The value reports whether a privilege propagates to paths below.
type Permissions map[string]bool

// Refusal contains the missing privileges and their path. It wraps ErrPermission.
type Refusal struct {
	// Detail is appended in brackets, e.g. "/vms/101, VM.Allocate"; it may be empty.
	Detail string
}

// Error returns the error text of Proxmox VE.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return ErrPermission.Error()
	}

	return fmt.Sprintf("%s (%s)", ErrPermission.Error(), r.Detail)
}

func (r *Refusal) Unwrap() error { return ErrPermission }

// Permissions returns the privileges of an identity on a path (pve-access-control RPCEnvironment.pm, permissions): from roles
// along the path and from roles through a pool. A separated token has only those that its user also has.
func (d *Database) Permissions(identity, path string) Permissions {
	if identity == Root {
		return d.privilegesOf(map[string]bool{RoleAdministrator: true})
	}

	owner := Owner(identity)
	if owner == identity {
		return d.ownPermissions(identity, path)
	}

	token := d.token(identity)
	if token == nil {
		return Permissions{}
	}

	user := d.Permissions(owner, path)
	if !token.Separated {
		return user
	}

	own := d.ownPermissions(identity, path)
	for name, propagated := range own {
		userPropagated, has := user[name]
		if !has {
			delete(own, name)
			continue
		}

		own[name] = propagated && userPropagated
	}

	return own
}

func (d *Database) ownPermissions(identity, path string) Permissions {
	roles := d.rolesOn(identity, path)
	pooled := d.poolRoles(identity, path)

	_, denied := roles[RoleNoAccess]
	_, deniedByPool := pooled[RoleNoAccess]

	switch {
	case denied:
	case deniedByPool:
		roles = map[string]bool{RoleNoAccess: false}
	default:
		for role := range pooled {
			if _, has := roles[role]; !has {
				roles[role] = false
			}
		}
	}

	return d.privilegesOf(roles)
}

// rolesOn follows the path from the root. At each step the entries of the token or user, otherwise those of its groups,
// replace the inherited ones (AccessControl.pm, roles).
func (d *Database) rolesOn(identity, path string) map[string]bool {
	roles := map[string]bool{}

	for _, step := range steps(path) {
		if here := d.rolesAt(identity, step, step == path); len(here) > 0 {
			roles = here
		}
	}

	if propagated, denied := roles[RoleNoAccess]; denied {
		return map[string]bool{RoleNoAccess: propagated}
	}

	return roles
}

func (d *Database) rolesAt(identity, path string, final bool) map[string]bool {
	collect := func(matches func(Grant) bool) map[string]bool {
		roles := map[string]bool{}

		for _, g := range d.Grants {
			if g.Path == path && (final || g.Propagate) && matches(g) {
				roles[g.Role] = g.Propagate
			}
		}

		return roles
	}

	own := collect(func(g Grant) bool {
		return g.Subject == identity && (g.Kind == KindToken || g.Kind == KindUser)
	})
	if len(own) > 0 {
		return own
	}

	user, ok := d.Users[identity]
	if !ok {
		return nil
	}

	return collect(func(g Grant) bool { return g.Kind == KindGroup && slices.Contains(user.Groups, g.Subject) })
}

// steps returns the prefixes of a path, from "/" to the path itself.
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

// poolRoles returns the roles that pools give on this VM or storage.
func (d *Database) poolRoles(identity, path string) map[string]bool {
	roles := map[string]bool{}

	for name, pool := range d.Pools {
		if !pool.holds(path) {
			continue
		}

		for role := range d.rolesOn(identity, "/pool/"+name) {
			roles[role] = true
		}
	}

	return roles
}

func (p *Pool) holds(path string) bool {
	if storage, ok := strings.CutPrefix(path, "/storage/"); ok {
		return slices.Contains(p.Storages, storage)
	}

	return slices.ContainsFunc(p.VMs, func(vmid int) bool { return path == fmt.Sprintf("/vms/%d", vmid) })
}

func (d *Database) privilegesOf(roles map[string]bool) Permissions {
	permissions := Permissions{}

	for name, propagated := range roles {
		role, ok := d.Roles[name]
		if !ok {
			continue
		}

		for _, privilege := range role.Privileges {
			permissions[privilege] = permissions[privilege] || propagated
		}
	}

	return permissions
}

// Check requires all privileges on a path, or with anyOf at least one. Its error is a *Refusal.
func (d *Database) Check(identity, path string, anyOf bool, privileges ...string) error {
	permissions := d.Permissions(identity, path)
	has := func(name string) bool {
		_, ok := permissions[name]
		return ok
	}

	if anyOf {
		if slices.ContainsFunc(privileges, has) {
			return nil
		}

		return &Refusal{Detail: path + ", " + strings.Join(privileges, "|")}
	}

	for _, name := range privileges {
		if !has(name) {
			return &Refusal{Detail: path + ", " + name}
		}
	}

	return nil
}

// Allowed reports whether Check succeeds.
func (d *Database) Allowed(identity, path string, privileges ...string) bool {
	return d.Check(identity, path, false, privileges...) == nil
}

// CheckVM requires privileges on a VM. They may also come from its pool, or from the pool that it is about to join
// (RPCEnvironment.pm, check_vm_perm).
func (d *Database) CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error {
	if pool != "" && d.Check(identity, "/pool/"+pool, anyOf, privileges...) == nil {
		return nil
	}

	return d.Check(identity, fmt.Sprintf("/vms/%d", vmid), anyOf, privileges...)
}

// CheckModify requires the privilege to change the access control of a path (RPCEnvironment.pm, check_perm_modify).
func (d *Database) CheckModify(identity, path string) error {
	if path == "" {
		return d.Check(identity, "/access", false, "Permissions.Modify")
	}

	sufficient := []string{"Permissions.Modify"}

	for prefix, privilege := range map[string]string{
		"/storage/": "Datastore.Allocate", "/vms/": "VM.Allocate", "/pool/": "Pool.Allocate",
	} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && rest != "" {
			sufficient = append(sufficient, privilege)
		}
	}

	return d.Check(identity, path, true, sufficient...)
}
