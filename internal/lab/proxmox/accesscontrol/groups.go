package accesscontrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// groupEntry is a group in the list of groups.
type groupEntry struct {
	GroupID string `json:"groupid"`
	Comment string `json:"comment,omitempty"`
	Users   string `json:"users"`
}

// listGroups handles GET /access/groups.
func (s *Service) listGroups(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.db
	list := []groupEntry{}

	for _, name := range slices.Sorted(maps.Keys(db.Groups)) {
		if db.Check(c.Identity, "/access/groups/"+name, true, "User.Modify", "Sys.Audit", "Group.Allocate") == nil {
			list = append(list, groupEntry{
				GroupID: name, Comment: db.Groups[name].Comment, Users: strings.Join(db.Members(name), ","),
			})
		}
	}

	return list, nil
}

// getGroup handles GET /access/groups/{groupid}.
func (s *Service) getGroup(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := c.Params.Get("groupid")

	group, ok := s.db.Groups[name]
	if !ok {
		return nil, fmt.Errorf("group '%s' does not exist", name)
	}

	return struct {
		Comment string   `json:"comment,omitempty"`
		Members []string `json:"members"`
	}{group.Comment, s.db.Members(name)}, nil
}

// createGroup handles POST /access/groups.
func (s *Service) createGroup(c *api.Call) (any, error) {
	return s.edit("create group failed", func(db *access.Database) error {
		name := c.Params.Get("groupid")
		if _, ok := db.Groups[name]; ok {
			return fmt.Errorf("group '%s' already exists", name)
		}

		db.Groups[name] = &access.Group{Comment: c.Params.Get("comment")}

		return nil
	})
}

// updateGroup handles PUT /access/groups/{groupid}.
func (s *Service) updateGroup(c *api.Call) (any, error) {
	return s.edit("update group failed", func(db *access.Database) error {
		group, ok := db.Groups[c.Params.Get("groupid")]
		if !ok {
			return fmt.Errorf("group '%s' does not exist", c.Params.Get("groupid"))
		}

		if c.Params.Has("comment") {
			group.Comment = c.Params.Get("comment")
		}

		return nil
	})
}

// deleteGroup handles DELETE /access/groups/{groupid}.
func (s *Service) deleteGroup(c *api.Call) (any, error) {
	return s.edit("delete group failed", func(db *access.Database) error {
		name := c.Params.Get("groupid")
		if _, ok := db.Groups[name]; !ok {
			return fmt.Errorf("group '%s' does not exist", name)
		}

		db.DeleteGroup(name)

		return nil
	})
}

func (s *Service) groupMethods() []api.Method {
	return []api.Method{
		api.Get("/access/groups", s.listGroups),
		api.Post("/access/groups", s.createGroup),
		api.Get("/access/groups/{groupid}", s.getGroup),
		api.Put("/access/groups/{groupid}", s.updateGroup),
		api.Delete("/access/groups/{groupid}", s.deleteGroup),
	}
}
