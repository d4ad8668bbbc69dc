// Package accesscontrol keeps the users of a host, their tokens and their privileges, serves the API methods about them,
// authenticates callers and checks their privileges (pve-access-control).
//
// Its lock is taken while other parts hold theirs, because they check permissions under their own locks. While it is held,
// only the environment is called.
package accesscontrol

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Service keeps the users of a host. It is safe for concurrent use.
type Service struct {
	env *host.Environment
	// ticketKey signs the tickets of sessions.
	ticketKey []byte

	mu sync.Mutex
	db *access.Database
}

// New returns the users of a freshly installed host.
func New(env *host.Environment) *Service {
	return &Service{env: env, ticketKey: []byte(rand.Text()), db: access.New(env.Release)}
}

// edit changes the user database. Its error begins with Proxmox VE's text for the failed operation.
func (s *Service) edit(failed string, change func(*access.Database) error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	err := change(s.db)

	var params *schema.ParamError
	if errors.As(err, &params) || errors.Is(err, access.ErrPermission) {
		return nil, err
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", failed, err)
	}

	s.db.Reread()
	s.env.Changed()

	return nil, nil
}

// aclEntry is an entry of the access control list.
type aclEntry struct {
	Path      string `json:"path"`
	Type      string `json:"type"`
	UGID      string `json:"ugid"`
	RoleID    string `json:"roleid"`
	Propagate int    `json:"propagate"`
}

// listACL handles GET /access/acl (pve-access-control API2/ACL.pm). It returns the entries that the caller may see or change.
func (s *Service) listACL(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.db
	audit := db.Allowed(c.Identity, "/access", "Sys.Audit")
	list := []aclEntry{}

	for _, g := range db.Grants {
		if audit || db.CheckModify(c.Identity, g.Path) == nil {
			list = append(list, aclEntry{
				Path: g.Path, Type: string(g.Kind), UGID: g.Subject, RoleID: g.Role, Propagate: api.Flag(g.Propagate),
			})
		}
	}

	return list, nil
}

// aclPath matches the paths that can have entries (AccessControl.pm, check_path).
var aclPath = regexp.MustCompile(`^(?:/|/access|/access/groups(?:/[[:alnum:]._-]+)?|/access/realm(?:/[[:alnum:]._-]+)?` +
	`|/nodes(?:/[[:alnum:]._-]+)?|/pool(?:/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2})?` +
	`|/sdn|/sdn/controllers(?:/[[:alnum:]_-]+)?|/sdn/(?:dns|fabrics|ipams)(?:/[[:alnum:]]+)?` +
	`|/sdn/zones(?:/[[:alnum:]._-]+(?:/[[:alnum:]._-]+(?:/[1-9][0-9]{0,3})?)?)?` +
	`|/storage(?:/[[:alnum:]._-]+)?|/vms(?:/[1-9][0-9]{2,})?|/mapping(?:/[[:alnum:]._-]+(?:/[[:alnum:]._-]+)?)?)$`)

// hasACLPath reports whether a path can have entries. Paths of fabrics can have them since release 9 (pve-access-control
// 9.0.1).
func (s *Service) hasACLPath(path string) bool {
	isFabric := strings.HasPrefix(path, "/sdn/fabrics")

	return aclPath.MatchString(path) && !(isFabric && s.env.Release == schema.Release84)
}

// updateACL handles PUT /access/acl.
func (s *Service) updateACL(c *api.Call) (any, error) {
	p := c.Params
	if p.Get("users") == "" && p.Get("groups") == "" && p.Get("tokens") == "" {
		const required = "either 'users', 'groups' or 'tokens' is required."

		return nil, &schema.ParamError{Errors: map[string]string{
			"users": required, "groups": required, "tokens": required,
		}}
	}

	path := access.NormalizePath(p.Get("path"))
	if path == "" || !p.Bool("delete", false) && !s.hasACLPath(path) {
		return nil, schema.BadParam("path", "invalid ACL path '%s'", p.Get("path"))
	}

	return s.edit("ACL update failed", func(db *access.Database) error {
		for _, role := range p.List("roles") {
			if err := grantRole(db, c, path, role); err != nil {
				return err
			}
		}

		return nil
	})
}

func grantRole(db *access.Database, c *api.Call, path, role string) error {
	if _, ok := db.Roles[role]; !ok {
		return fmt.Errorf("role '%s' does not exist", role)
	}

	if err := mayGrant(db, c, path, role); err != nil {
		return err
	}

	grants := []access.Grant{}

	for _, subjects := range []struct {
		kind  access.SubjectKind
		names []string
	}{
		{access.KindGroup, c.Params.List("groups")},
		{access.KindUser, c.Params.List("users")},
		{access.KindToken, c.Params.List("tokens")},
	} {
		for _, name := range subjects.names {
			if err := db.Exists(subjects.kind, name); err != nil {
				return err
			}

			grants = append(grants, access.Grant{
				Path: path, Kind: subjects.kind, Subject: name, Role: role, Propagate: c.Params.Bool("propagate", true),
			})
		}
	}

	for _, g := range grants {
		if c.Params.Bool("delete", false) {
			db.RemoveGrant(g)
		} else {
			db.AddGrant(g)
		}
	}

	return nil
}

// mayGrant returns an error if a caller without Permissions.Modify grants more than its own privileges.
func mayGrant(db *access.Database, c *api.Call, path, role string) error {
	own := db.Permissions(c.Identity, path)
	if _, may := own["Permissions.Modify"]; may {
		return nil
	}

	remove := c.Params.Bool("delete", false)

	verb := "add"
	if remove {
		verb = "remove"
	}

	if role == access.RoleNoAccess {
		return schema.BadParam("role", "Cannot %s role '%s' - requires 'Permissions.Modify'", verb, role)
	}

	for _, privilege := range db.Roles[role].Privileges {
		propagated, has := own[privilege]

		switch {
		case !has:
			return schema.BadParam("role",
				"Cannot %s role '%s' - requires 'Permissions.Modify' or superset of privileges.", verb, role)
		case c.Params.Bool("propagate", true) && !propagated && !remove:
			return schema.BadParam("role", "Cannot %s role '%s' with propagation - requires 'Permissions.Modify' or "+
				"propagated superset of privileges.", verb, role)
		}
	}

	return nil
}

// getPermissions handles GET /access/permissions. It returns the privileges of an identity by path.
func (s *Service) getPermissions(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.db

	identity := c.Params.Get("userid")
	if identity == "" {
		identity = c.Identity
	}

	if identity != c.Identity && access.Owner(identity) != c.Identity {
		if err := db.Check(c.Identity, "/access", false, "Sys.Audit"); err != nil {
			return nil, err
		}
	}

	paths := []string{c.Params.Get("path")}
	if paths[0] == "" {
		paths = db.KnownPaths()
	}

	shown := map[string]map[string]int{}

	for _, path := range paths {
		permissions := map[string]int{}
		for privilege, propagated := range db.Permissions(identity, path) {
			permissions[privilege] = api.Flag(propagated)
		}

		if len(permissions) > 0 || c.Params.Has("path") {
			shown[path] = permissions
		}
	}

	return shown, nil
}

// accessIndex handles GET /access.
func (s *Service) accessIndex(*api.Call) (any, error) {
	return api.Folders("subdir", "users", "groups", "roles", "acl", "permissions", "ticket", "password"), nil
}

// getTicket handles GET /access/ticket, which exists for login forms.
func (s *Service) getTicket(*api.Call) (any, error) { return nil, nil }

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	return slices.Concat([]api.Method{
		api.Get("/access", s.accessIndex),
		api.Get("/access/permissions", s.getPermissions),
		api.Get("/access/acl", s.listACL),
		api.Put("/access/acl", s.updateACL),
	}, s.ticketMethods(), s.roleMethods(), s.userMethods(), s.groupMethods(), s.tokenMethods())
}
