package accesscontrol

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// roleEntry is a role in the list of roles.
type roleEntry struct {
	RoleID     string `json:"roleid"`
	Privileges string `json:"privs"`
	Special    int    `json:"special"`
}

// listRoles handles GET /access/roles.
func (s *Service) listRoles(*api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []roleEntry{}

	for _, name := range slices.Sorted(maps.Keys(s.db.Roles)) {
		role := s.db.Roles[name]
		list = append(list, roleEntry{RoleID: name, Privileges: strings.Join(role.Privileges, ","), Special: api.Flag(role.Builtin)})
	}

	return list, nil
}

// getRole handles GET /access/roles/{roleid}. It returns the privileges as flags.
func (s *Service) getRole(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	role, ok := s.db.Roles[c.Params.Get("roleid")]
	if !ok {
		return nil, fmt.Errorf("role '%s' does not exist", c.Params.Get("roleid"))
	}

	flags := map[string]int{}
	for _, privilege := range role.Privileges {
		flags[privilege] = 1
	}

	return flags, nil
}

var reservedRole = regexp.MustCompile(`(?i)^PVE`)

// createRole handles POST /access/roles.
func (s *Service) createRole(c *api.Call) (any, error) {
	name := c.Params.Get("roleid")
	if reservedRole.MatchString(name) {
		return nil, schema.BadParam("roleid",
			"cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}

	return s.edit("create role failed", func(db *access.Database) error {
		if _, ok := db.Roles[name]; ok {
			return fmt.Errorf("role '%s' already exists", name)
		}

		return db.SetRole(name, c.Params.List("privs"))
	})
}

// updateRole handles PUT /access/roles/{roleid}.
func (s *Service) updateRole(c *api.Call) (any, error) {
	name := c.Params.Get("roleid")
	if err := s.checkOwnRole(name, "modified"); err != nil {
		return nil, err
	}

	return s.edit("update role failed", func(db *access.Database) error {
		role, ok := db.Roles[name]
		if !ok {
			return fmt.Errorf("role '%s' does not exist", name)
		}

		privileges := c.Params.List("privs")
		if c.Params.Bool("append", false) {
			privileges = slices.Concat(role.Privileges, privileges)
		}

		return db.SetRole(name, privileges)
	})
}

// deleteRole handles DELETE /access/roles/{roleid}. Entries with the role stay, but have no effect.
func (s *Service) deleteRole(c *api.Call) (any, error) {
	name := c.Params.Get("roleid")
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

func (s *Service) checkOwnRole(name, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if role, ok := s.db.Roles[name]; ok && role.Builtin {
		return fmt.Errorf("auto-generated role '%s' cannot be %s", name, what)
	}

	return nil
}

func (s *Service) roleMethods() []api.Method {
	return []api.Method{
		api.Get("/access/roles", s.listRoles),
		api.Post("/access/roles", s.createRole),
		api.Get("/access/roles/{roleid}", s.getRole),
		api.Put("/access/roles/{roleid}", s.updateRole),
		api.Delete("/access/roles/{roleid}", s.deleteRole),
	}
}
