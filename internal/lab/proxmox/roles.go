package proxmox

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// roleEntry is a role in the list of roles.
type roleEntry struct {
	RoleID     string `json:"roleid"`
	Privileges string `json:"privs"`
	Special    int    `json:"special"`
}

// listRoles answers GET /access/roles.
func (s *Server) listRoles(*call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []roleEntry{}

	for _, name := range sortedNames(s.state.Access.Roles) {
		role := s.state.Access.Roles[name]
		list = append(list, roleEntry{RoleID: name, Privileges: joinComma(role.Privileges), Special: flag(role.Builtin)})
	}

	return list, nil
}

// getRole answers GET /access/roles/{roleid}: the privileges as flags.
func (s *Server) getRole(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	role, ok := s.state.Access.Roles[c.params.Get("roleid")]
	if !ok {
		return nil, fmt.Errorf("role '%s' does not exist", c.params.Get("roleid"))
	}

	flags := map[string]int{}
	for _, privilege := range role.Privileges {
		flags[privilege] = 1
	}

	return flags, nil
}

var reservedRole = regexp.MustCompile(`(?i)^PVE`)

// createRole answers POST /access/roles.
func (s *Server) createRole(c *call) (any, error) {
	name := c.params.Get("roleid")
	if reservedRole.MatchString(name) {
		return nil, schema.BadParam("roleid",
			"cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}

	return s.edit("create role failed", func(db *access.Database) error {
		if _, ok := db.Roles[name]; ok {
			return fmt.Errorf("role '%s' already exists", name)
		}

		return db.SetRole(name, c.params.List("privs"))
	})
}

// updateRole answers PUT /access/roles/{roleid}.
func (s *Server) updateRole(c *call) (any, error) {
	name := c.params.Get("roleid")
	if err := s.checkOwnRole(name, "modified"); err != nil {
		return nil, err
	}

	return s.edit("update role failed", func(db *access.Database) error {
		role, ok := db.Roles[name]
		if !ok {
			return fmt.Errorf("role '%s' does not exist", name)
		}

		privileges := c.params.List("privs")
		if c.params.Bool("append", false) {
			privileges = slices.Concat(role.Privileges, privileges)
		}

		return db.SetRole(name, privileges)
	})
}

// deleteRole answers DELETE /access/roles/{roleid}. Entries that give the role stay, and give nothing.
func (s *Server) deleteRole(c *call) (any, error) {
	name := c.params.Get("roleid")
	if err := s.checkOwnRole(name, "deleted"); err != nil {
		return nil, err
	}

	return s.edit("delete role failed", func(db *access.Database) error {
		if _, ok := db.Roles[name]; !ok {
			return fmt.Errorf("role '%s' does not exist", name)
		}

		delete(db.Roles, name)

		return nil
	})
}

func (s *Server) checkOwnRole(name, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if role, ok := s.state.Access.Roles[name]; ok && role.Builtin {
		return fmt.Errorf("auto-generated role '%s' cannot be %s", name, what)
	}

	return nil
}

func roleRows() []row {
	return []row{
		{Verb: http.MethodGet, Path: "/access/roles", serve: (*Server).listRoles},
		{Verb: http.MethodPost, Path: "/access/roles", serve: (*Server).createRole},
		{Verb: http.MethodGet, Path: "/access/roles/{roleid}", serve: (*Server).getRole},
		{Verb: http.MethodPut, Path: "/access/roles/{roleid}", serve: (*Server).updateRole},
		{Verb: http.MethodDelete, Path: "/access/roles/{roleid}", serve: (*Server).deleteRole},
	}
}
