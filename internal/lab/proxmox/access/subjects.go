package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// User returns an account.
func (d *Database) User(name string) (*User, error) {
	user, ok := d.Users[name]
	if !ok {
		return nil, fmt.Errorf("no such user ('%s')", name)
	}

	return user, nil
}

// Token returns a token of an account.
func (d *Database) Token(user, name string) (*Token, error) {
	owner, err := d.User(user)
	if err != nil {
		return nil, err
	}

	token, ok := owner.Tokens[name]
	if !ok {
		return nil, fmt.Errorf("no such token '%s' for user '%s'", name, user)
	}

	return token, nil
}

// Exists returns an error for a subject that cannot have an access control entry.
func (d *Database) Exists(kind SubjectKind, name string) error {
	switch kind {
	case KindGroup:
		if _, ok := d.Groups[name]; !ok {
			return fmt.Errorf("group '%s' does not exist", name)
		}
	case KindUser:
		if _, ok := d.Users[name]; !ok {
			return fmt.Errorf("user '%s' does not exist", name)
		}
	case KindToken:
		user, token, _ := strings.Cut(name, "!")
		if _, err := d.Token(user, token); err != nil {
			return err
		}
	}

	return nil
}

// Members returns the users of a group.
func (d *Database) Members(group string) []string {
	members := []string{}

	for _, name := range slices.Sorted(maps.Keys(d.Users)) {
		if slices.Contains(d.Users[name].Groups, group) {
			members = append(members, name)
		}
	}

	return members
}

// DeleteUser removes an account with its tokens and all their access control entries.
func (d *Database) DeleteUser(name string) {
	if user, ok := d.Users[name]; ok {
		for token := range user.Tokens {
			d.RemoveSubject(KindToken, name+"!"+token)
		}
	}

	delete(d.Users, name)
	d.RemoveSubject(KindUser, name)
}

// DeleteGroup removes a group, its memberships and its access control entries.
func (d *Database) DeleteGroup(name string) {
	for _, user := range d.Users {
		user.Groups = slices.DeleteFunc(user.Groups, func(group string) bool { return group == name })
	}

	delete(d.Groups, name)
	d.RemoveSubject(KindGroup, name)
}

// KnownPaths returns the paths in a report of permissions: the top-level ones, those of access control entries, and those of
// pool members (RPCEnvironment.pm, get_effective_permissions).
func (d *Database) KnownPaths() []string {
	paths := []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}

	for _, g := range d.Grants {
		paths = append(paths, g.Path)
	}

	for _, pool := range d.Pools {
		for _, vmid := range pool.VMs {
			paths = append(paths, fmt.Sprintf("/vms/%d", vmid))
		}

		for _, storage := range pool.Storages {
			paths = append(paths, "/storage/"+storage)
		}
	}

	slices.Sort(paths)

	return slices.Compact(paths)
}

// Adopt merges another database into this one: its release, its roles, and its users, tokens and entries. An existing
// password stays.
func (d *Database) Adopt(fresh *Database) {
	d.release = fresh.release

	for name, user := range fresh.Users {
		known, ok := d.Users[name]
		if !ok {
			d.Users[name] = user
			continue
		}

		if known.Tokens == nil {
			known.Tokens = map[string]*Token{}
		}

		maps.Copy(known.Tokens, user.Tokens)

		if known.Password == "" {
			known.Password = user.Password
		}
	}

	maps.Copy(d.Roles, fresh.Roles)

	for _, grant := range fresh.Grants {
		d.AddGrant(grant)
	}
}
