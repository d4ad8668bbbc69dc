package accesscontrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// userEntry is a user in the API (pve-access-control API2/User.pm). The list has groups as one text and tokens as entries; a
// single user has a list of groups and a map of tokens.
type userEntry struct {
	UserID    string `json:"userid,omitempty"`
	Enable    int    `json:"enable"`
	Expire    int64  `json:"expire"`
	FirstName string `json:"firstname,omitempty"`
	LastName  string `json:"lastname,omitempty"`
	Email     string `json:"email,omitempty"`
	Comment   string `json:"comment,omitempty"`
	Keys      string `json:"keys,omitempty"`
	Groups    any    `json:"groups,omitempty"`
	Tokens    any    `json:"tokens,omitempty"`
}

func showUser(u *access.User) userEntry {
	return userEntry{
		Enable: api.Flag(u.Enabled), Expire: u.Expire, FirstName: u.FirstName, LastName: u.LastName, Email: u.Email,
		Comment: u.Comment, Keys: u.Keys,
	}
}

// listUsers handles GET /access/users. It returns the users that the caller may see, and always the caller.
func (s *Service) listUsers(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db := s.db
	may := func(path string) bool { return db.Check(c.Identity, path, true, "User.Modify", "Sys.Audit") == nil }
	all := may("/access/groups")
	list := []userEntry{}

	for _, name := range slices.Sorted(maps.Keys(db.Users)) {
		user := db.Users[name]
		inGroup := slices.ContainsFunc(user.Groups, func(group string) bool { return may("/access/groups/" + group) })

		if !all && name != c.Identity && !inGroup ||
			c.Params.Has("enabled") && c.Params.Bool("enabled", false) != user.Enabled {
			continue
		}

		entry := showUser(user)
		entry.UserID = name

		if c.Params.Bool("full", false) {
			entry.Groups, entry.Tokens = strings.Join(user.Groups, ","), tokenList(user)
		}

		list = append(list, entry)
	}

	return list, nil
}

// getUser handles GET /access/users/{userid}.
func (s *Service) getUser(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	user, err := s.db.User(c.Params.Get("userid"))
	if err != nil {
		return nil, err
	}

	tokens := map[string]tokenEntry{}
	for name, token := range user.Tokens {
		tokens[name] = showToken(token)
	}

	entry := showUser(user)
	entry.Groups, entry.Tokens = append([]string{}, user.Groups...), tokens

	return entry, nil
}

// createUser handles POST /access/users.
func (s *Service) createUser(c *api.Call) (any, error) {
	return s.edit("create user failed", func(db *access.Database) error {
		name := c.Params.Get("userid")
		if _, ok := db.Users[name]; ok {
			return fmt.Errorf("user '%s' already exists", name)
		}

		user := &access.User{Enabled: true, Tokens: map[string]*access.Token{}}
		if err := setUser(db, user, c.Params); err != nil {
			return err
		}

		if c.Params.Has("password") {
			if err := user.SetPassword(name, c.Params.Get("password")); err != nil {
				return err
			}
		}

		db.Users[name] = user

		return nil
	})
}

// updateUser handles PUT /access/users/{userid}.
func (s *Service) updateUser(c *api.Call) (any, error) {
	return s.edit("update user failed", func(db *access.Database) error {
		user, err := db.User(c.Params.Get("userid"))
		if err != nil {
			return err
		}

		if c.Params.Has("groups") && !c.Params.Bool("append", false) {
			user.Groups = nil
		}

		return setUser(db, user, c.Params)
	})
}

func setUser(db *access.Database, user *access.User, params schema.Params) error {
	for _, group := range params.List("groups") {
		if _, ok := db.Groups[group]; !ok {
			return fmt.Errorf("no such group '%s'", group)
		}

		if !slices.Contains(user.Groups, group) {
			user.Groups = append(user.Groups, group)
		}
	}

	for name, field := range map[string]*string{
		"firstname": &user.FirstName, "lastname": &user.LastName, "email": &user.Email, "comment": &user.Comment,
		"keys": &user.Keys,
	} {
		if params.Has(name) {
			*field = params.Get(name)
		}
	}

	user.Enabled = params.Bool("enable", user.Enabled)
	user.Expire = int64(params.Int("expire", int(user.Expire)))

	return nil
}

// deleteUser handles DELETE /access/users/{userid}.
func (s *Service) deleteUser(c *api.Call) (any, error) {
	return s.edit("delete user failed", func(db *access.Database) error {
		db.DeleteUser(c.Params.Get("userid"))
		return nil
	})
}

func (s *Service) userMethods() []api.Method {
	return []api.Method{
		api.Get("/access/users", s.listUsers),
		api.Post("/access/users", s.createUser),
		api.Get("/access/users/{userid}", s.getUser),
		api.Put("/access/users/{userid}", s.updateUser),
		api.Delete("/access/users/{userid}", s.deleteUser),
	}
}
