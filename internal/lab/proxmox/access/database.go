package access

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Errors that callers distinguish. The text of Proxmox VE is added where an error occurs.
var (
	// ErrAuthentication is returned for an invalid identity or secret.
	ErrAuthentication = errors.New("authentication failure")
	// ErrPermission is wrapped by every failed permission check.
	ErrPermission = errors.New("Permission check failed")
)

// User is an account of the host.
type User struct {
	Comment   string            `json:"comment,omitempty"`
	Email     string            `json:"email,omitempty"`
	FirstName string            `json:"firstname,omitempty"`
	LastName  string            `json:"lastname,omitempty"`
	Keys      string            `json:"keys,omitempty"`
	Enabled   bool              `json:"enabled"`
	Expire    int64             `json:"expire,omitempty"`
	Groups    []string          `json:"groups,omitempty"`
	Tokens    map[string]*Token `json:"tokens,omitempty"`
	// Password is a hash of the user's password. A user without one cannot log in.
	Password string `json:"password,omitempty"`
}

// Token is an API token of a user.
type Token struct {
	Comment string `json:"comment,omitempty"`
	Expire  int64  `json:"expire,omitempty"`
	// Separated tokens have only the privileges that their user also has.
	Separated bool `json:"privsep"`
	// Secret is a hash of the token's value. The value itself is not stored.
	Secret string `json:"secret"`
}

// Group is a set of users.
type Group struct {
	Comment string `json:"comment,omitempty"`
}

// Role is a named set of privileges.
type Role struct {
	Privileges []string `json:"privileges"`
	Builtin    bool     `json:"builtin,omitempty"`
}

// Pool is a set of VMs and storages that share access rights.
type Pool struct {
	Comment  string   `json:"comment,omitempty"`
	VMs      []int    `json:"vms,omitempty"`
	Storages []string `json:"storages,omitempty"`
}

// SubjectKind is the kind of an access control entry's subject.
type SubjectKind string

// The kinds of subjects.
const (
	KindUser  SubjectKind = "user"
	KindGroup SubjectKind = "group"
	KindToken SubjectKind = "token"
)

// Grant gives a role on a path to a subject.
type Grant struct {
	Path      string      `json:"path"`
	Kind      SubjectKind `json:"kind"`
	Subject   string      `json:"subject"`
	Role      string      `json:"role"`
	Propagate bool        `json:"propagate"`
}

// Database holds what a real host keeps in user.cfg. It is not safe for concurrent use.
type Database struct {
	Users  map[string]*User  `json:"users"`
	Groups map[string]*Group `json:"groups"`
	Roles  map[string]*Role  `json:"roles"`
	Pools  map[string]*Pool  `json:"pools"`
	Grants []Grant           `json:"grants"`

	release schema.Release
}

// New returns the database of a freshly installed host: root, and the built-in roles of the release.
func New(release schema.Release) *Database {
	d := &Database{
		Users:   map[string]*User{Root: {Enabled: true, Tokens: map[string]*Token{}}},
		Groups:  map[string]*Group{},
		Roles:   map[string]*Role{},
		Pools:   map[string]*Pool{},
		release: release,
	}

	for name, privileges := range builtinRoles(release) {
		d.Roles[name] = &Role{Privileges: privileges, Builtin: true}
	}

	return d
}

// CheckPrivileges returns Proxmox VE's error for names that the release does not know.
func (d *Database) CheckPrivileges(names []string) error {
	known := Privileges(d.release)

	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("invalid privilege '%s'", name)
		}
	}

	return nil
}

// SetRole defines or redefines a role.
func (d *Database) SetRole(name string, privileges []string) error {
	if err := d.CheckPrivileges(privileges); err != nil {
		return err
	}

	sorted := slices.Clone(privileges)
	slices.Sort(sorted)
	d.Roles[name] = &Role{Privileges: slices.Compact(sorted)}

	return nil
}

// AddGrant adds an entry, or updates the propagation of an existing one.
func (d *Database) AddGrant(g Grant) {
	g.Path = NormalizePath(g.Path)
	d.RemoveGrant(g)
	d.Grants = append(d.Grants, g)

	slices.SortFunc(d.Grants, func(a, b Grant) int {
		return strings.Compare(a.sortKey(), b.sortKey())
	})
}

// RemoveGrant removes an entry, regardless of its propagation.
func (d *Database) RemoveGrant(g Grant) {
	g.Path = NormalizePath(g.Path)
	d.Grants = slices.DeleteFunc(d.Grants, func(other Grant) bool { return other.sortKey() == g.sortKey() })
}

func (g Grant) sortKey() string {
	return strings.Join([]string{g.Path, string(g.Kind), g.Subject, g.Role}, "\x00")
}

// RemoveSubject removes every entry of a subject.
func (d *Database) RemoveSubject(kind SubjectKind, subject string) {
	d.Grants = slices.DeleteFunc(d.Grants, func(g Grant) bool { return g.Kind == kind && g.Subject == subject })
}

// RemovePath removes every entry on a path.
func (d *Database) RemovePath(path string) {
	d.Grants = slices.DeleteFunc(d.Grants, func(g Grant) bool { return g.Path == path })
}

// PoolOf returns the pool of a VM, or "".
func (d *Database) PoolOf(vmid int) string {
	for _, name := range slices.Sorted(maps.Keys(d.Pools)) {
		if slices.Contains(d.Pools[name].VMs, vmid) {
			return name
		}
	}

	return ""
}

// JoinPool adds a VM to a pool.
func (d *Database) JoinPool(vmid int, pool string) {
	p, ok := d.Pools[pool]
	if !ok || slices.Contains(p.VMs, vmid) {
		return
	}

	p.VMs = append(p.VMs, vmid)
	slices.Sort(p.VMs)
}

// ForgetVM removes a destroyed VM from its pool and its access control entries.
func (d *Database) ForgetVM(vmid int) {
	for _, p := range d.Pools {
		p.VMs = slices.DeleteFunc(p.VMs, func(id int) bool { return id == vmid })
	}

	d.RemovePath(fmt.Sprintf("/vms/%d", vmid))
}

// pathForm matches an access control path. The character "@" is not allowed (AccessControl.pm, normalize_path).
var pathForm = regexp.MustCompile(`^[[:alnum:].\-_/]+$`)

// NormalizePath removes doubled and trailing slashes from an access control path. It returns "" for an invalid path.
func NormalizePath(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })

	normal := "/" + strings.Join(parts, "/")
	if path == "" || !pathForm.MatchString(normal) {
		return ""
	}

	return normal
}
