package proxmox

import (
	"fmt"
	"net/http"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
)

// groupEntry is a group in the list of groups.
type groupEntry struct {
	GroupID string `json:"groupid"`
	Comment string `json:"comment,omitempty"`
	Users   string `json:"users"`
}

// listGroups answers GET /access/groups.
func (s *Server) listGroups(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.state.Access
	list := []groupEntry{}

	for _, name := range sortedNames(db.Groups) {
		if db.Check(c.identity, "/access/groups/"+name, true, "User.Modify", "Sys.Audit", "Group.Allocate") == nil {
			list = append(list, groupEntry{
				GroupID: name, Comment: db.Groups[name].Comment, Users: joinComma(db.Members(name)),
			})
		}
	}

	return list, nil
}

// getGroup answers GET /access/groups/{groupid}.
func (s *Server) getGroup(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := c.params.Get("groupid")

	group, ok := s.state.Access.Groups[name]
	if !ok {
		return nil, fmt.Errorf("group '%s' does not exist", name)
	}

	return struct {
		Comment string   `json:"comment,omitempty"`
		Members []string `json:"members"`
	}{group.Comment, s.state.Access.Members(name)}, nil
}

// createGroup answers POST /access/groups.
func (s *Server) createGroup(c *call) (any, error) {
	return s.edit("create group failed", func(db *access.Database) error {
		name := c.params.Get("groupid")
		if _, ok := db.Groups[name]; ok {
			return fmt.Errorf("group '%s' already exists", name)
		}

		db.Groups[name] = &access.Group{Comment: c.params.Get("comment")}

		return nil
	})
}

// updateGroup answers PUT /access/groups/{groupid}.
func (s *Server) updateGroup(c *call) (any, error) {
	return s.edit("update group failed", func(db *access.Database) error {
		group, ok := db.Groups[c.params.Get("groupid")]
		if !ok {
			return fmt.Errorf("group '%s' does not exist", c.params.Get("groupid"))
		}

		if c.params.Has("comment") {
			group.Comment = c.params.Get("comment")
		}

		return nil
	})
}

// deleteGroup answers DELETE /access/groups/{groupid}.
func (s *Server) deleteGroup(c *call) (any, error) {
	return s.edit("delete group failed", func(db *access.Database) error {
		name := c.params.Get("groupid")
		if _, ok := db.Groups[name]; !ok {
			return fmt.Errorf("group '%s' does not exist", name)
		}

		db.DeleteGroup(name)

		return nil
	})
}

func groupRows() []row {
	return []row{
		{Verb: http.MethodGet, Path: "/access/groups", serve: (*Server).listGroups},
		{Verb: http.MethodPost, Path: "/access/groups", serve: (*Server).createGroup},
		{Verb: http.MethodGet, Path: "/access/groups/{groupid}", serve: (*Server).getGroup},
		{Verb: http.MethodPut, Path: "/access/groups/{groupid}", serve: (*Server).updateGroup},
		{Verb: http.MethodDelete, Path: "/access/groups/{groupid}", serve: (*Server).deleteGroup},
	}
}
