package proxmox

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// edit changes the user database. Its error bears the sentence that Proxmox VE puts before what went wrong.
func (s *Server) edit(failed string, change func(*access.Database) error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	err := change(s.state.Access)

	var params *schema.ParamError
	if errors.As(err, &params) || errors.Is(err, access.ErrPermission) {
		return nil, err
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", failed, err)
	}

	s.state.Access.Reread()
	s.changed()

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

// listACL answers GET /access/acl (pve-access-control API2/ACL.pm): entries that the caller may see or change.
func (s *Server) listACL(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.state.Access
	audit := db.Allowed(c.identity, "/access", "Sys.Audit")
	list := []aclEntry{}

	for _, g := range db.Grants {
		if audit || db.CheckModify(c.identity, g.Path) == nil {
			list = append(list, aclEntry{
				Path: g.Path, Type: string(g.Kind), UGID: g.Subject, RoleID: g.Role, Propagate: flag(g.Propagate),
			})
		}
	}

	return list, nil
}

// aclPath are the paths that entries may be made on (AccessControl.pm, check_path).
var aclPath = regexp.MustCompile(`^(?:/|/access|/access/groups(?:/[[:alnum:]._-]+)?|/access/realm(?:/[[:alnum:]._-]+)?` +
	`|/nodes(?:/[[:alnum:]._-]+)?|/pool(?:/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2})?` +
	`|/sdn|/sdn/(?:controllers|dns|ipams)(?:/[[:alnum:]_-]+)?` +
	`|/sdn/zones(?:/[[:alnum:]._-]+(?:/[[:alnum:]._-]+(?:/[1-9][0-9]{0,3})?)?)?` +
	`|/storage(?:/[[:alnum:]._-]+)?|/vms(?:/[1-9][0-9]{2,})?|/mapping(?:/[[:alnum:]._-]+(?:/[[:alnum:]._-]+)?)?)$`)

// updateACL answers PUT /access/acl.
func (s *Server) updateACL(c *call) (any, error) {
	p := c.params
	if p.Get("users") == "" && p.Get("groups") == "" && p.Get("tokens") == "" {
		const required = "either 'users', 'groups' or 'tokens' is required."

		return nil, &schema.ParamError{Errors: map[string]string{
			"users": required, "groups": required, "tokens": required,
		}}
	}

	path := access.NormalizePath(p.Get("path"))
	if path == "" || !p.Bool("delete", false) && !aclPath.MatchString(path) {
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

func grantRole(db *access.Database, c *call, path, role string) error {
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
		{access.KindGroup, c.params.List("groups")},
		{access.KindUser, c.params.List("users")},
		{access.KindToken, c.params.List("tokens")},
	} {
		for _, name := range subjects.names {
			if err := db.Exists(subjects.kind, name); err != nil {
				return err
			}

			grants = append(grants, access.Grant{
				Path: path, Kind: subjects.kind, Subject: name, Role: role, Propagate: c.params.Bool("propagate", true),
			})
		}
	}

	for _, g := range grants {
		if c.params.Bool("delete", false) {
			db.RemoveGrant(g)
		} else {
			db.AddGrant(g)
		}
	}

	return nil
}

// mayGrant lets those who may not modify permissions hand out no more than they have.
func mayGrant(db *access.Database, c *call, path, role string) error {
	own := db.Permissions(c.identity, path)
	if _, may := own["Permissions.Modify"]; may {
		return nil
	}

	remove := c.params.Bool("delete", false)

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
		case c.params.Bool("propagate", true) && !propagated && !remove:
			return schema.BadParam("role", "Cannot %s role '%s' with propagation - requires 'Permissions.Modify' or "+
				"propagated superset of privileges.", verb, role)
		}
	}

	return nil
}

// getPermissions answers GET /access/permissions: what an identity may do, by path.
func (s *Server) getPermissions(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.state.Access

	identity := c.params.Get("userid")
	if identity == "" {
		identity = c.identity
	}

	if identity != c.identity && access.Owner(identity) != c.identity {
		if err := db.Check(c.identity, "/access", false, "Sys.Audit"); err != nil {
			return nil, err
		}
	}

	paths := []string{c.params.Get("path")}
	if paths[0] == "" {
		paths = db.KnownPaths()
	}

	shown := map[string]map[string]int{}

	for _, path := range paths {
		permissions := map[string]int{}
		for privilege, propagated := range db.Permissions(identity, path) {
			permissions[privilege] = flag(propagated)
		}

		if len(permissions) > 0 || c.params.Has("path") {
			shown[path] = permissions
		}
	}

	return shown, nil
}

// accessIndex answers GET /access.
func (s *Server) accessIndex(*call) (any, error) {
	return folders("subdir", "users", "groups", "roles", "acl", "permissions", "ticket", "password"), nil
}

// getTicket answers GET /access/ticket, which exists for login forms.
func (s *Server) getTicket(*call) (any, error) { return nil, nil }

func accessRows() []row {
	return slices.Concat([]row{
		{Verb: http.MethodGet, Path: "/access", serve: (*Server).accessIndex},
		{Verb: http.MethodGet, Path: "/access/permissions", serve: (*Server).getPermissions},
		{Verb: http.MethodGet, Path: "/access/acl", serve: (*Server).listACL},
		{Verb: http.MethodPut, Path: "/access/acl", serve: (*Server).updateACL},
	}, ticketRows(), roleRows(), userRows(), groupRows(), tokenRows())
}
