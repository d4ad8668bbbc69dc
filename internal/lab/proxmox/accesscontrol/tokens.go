package accesscontrol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// tokenEntry is a token in the API. Its value is only returned by the call that creates it.
type tokenEntry struct {
	TokenID string `json:"tokenid,omitempty"`
	Comment string `json:"comment,omitempty"`
	Expire  int64  `json:"expire"`
	PrivSep int    `json:"privsep"`
}

func showToken(t *access.Token) tokenEntry {
	return tokenEntry{Comment: t.Comment, Expire: t.Expire, PrivSep: api.Flag(t.Separated)}
}

func tokenList(u *access.User) []tokenEntry {
	list := []tokenEntry{}

	for _, name := range slices.Sorted(maps.Keys(u.Tokens)) {
		entry := showToken(u.Tokens[name])
		entry.TokenID = name
		list = append(list, entry)
	}

	return list
}

// listTokens handles GET /access/users/{userid}/token.
func (s *Service) listTokens(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	user, err := s.db.User(c.Params.Get("userid"))
	if err != nil {
		return nil, err
	}

	return tokenList(user), nil
}

// getToken handles GET /access/users/{userid}/token/{tokenid}.
func (s *Service) getToken(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	token, err := s.db.Token(c.Params.Get("userid"), c.Params.Get("tokenid"))
	if err != nil {
		return nil, err
	}

	return showToken(token), nil
}

// newToken is the response to the creation of a token.
type newToken struct {
	FullTokenID string     `json:"full-tokenid"`
	Value       string     `json:"value"`
	Info        tokenEntry `json:"info"`
}

// createToken handles POST /access/users/{userid}/token/{tokenid}.
func (s *Service) createToken(c *api.Call) (any, error) {
	user, name := c.Params.Get("userid"), c.Params.Get("tokenid")
	created := newToken{FullTokenID: user + "!" + name}

	_, err := s.edit("generating token failed", func(db *access.Database) error {
		owner, err := db.User(user)
		if err != nil {
			return err
		}

		if _, ok := owner.Tokens[name]; ok {
			return schema.BadParam("tokenid", "Token already exists.")
		}

		if created.Value, err = vmconfig.NewUUID(s.env.Random.Reader("token " + created.FullTokenID)); err != nil {
			return err
		}

		token := access.Token{
			Comment: c.Params.Get("comment"), Expire: int64(c.Params.Int("expire", 0)),
			Separated: c.Params.Bool("privsep", true),
		}
		db.SetToken(created.FullTokenID, created.Value, token)
		created.Info = showToken(&token)

		return nil
	})
	if err != nil {
		return nil, err
	}

	return created, nil
}

// updateToken handles PUT /access/users/{userid}/token/{tokenid}. On 9 an empty comment removes it, like delete; 8 keeps the
// existing comment (pve-access-control API2/User.pm, update_token_info). The token is looked up before the access control
// list is locked, so that a missing token has its own error text.
func (s *Service) updateToken(c *api.Call) (any, error) {
	if err := s.checkToken(c); err != nil {
		return nil, err
	}

	var shown tokenEntry

	_, err := s.edit("updating token info failed", func(db *access.Database) error {
		token, err := db.Token(c.Params.Get("userid"), c.Params.Get("tokenid"))
		if err != nil {
			return err
		}

		token.Separated = c.Params.Bool("privsep", token.Separated)
		token.Expire = int64(c.Params.Int("expire", int(token.Expire)))

		if comment := c.Params.Get("comment"); comment != "" || c.Params.Has("comment") && s.env.Release != schema.Release84 {
			token.Comment = comment
		}

		for _, key := range c.Params.List("delete") {
			if key != "comment" {
				return schema.BadParam("delete", "unknown option '%s'", key)
			}

			token.Comment = ""
		}

		shown = showToken(token)

		return nil
	})
	if err != nil {
		return nil, err
	}

	return shown, nil
}

// checkToken returns an error if the token of a call does not exist.
func (s *Service) checkToken(c *api.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, err := s.db.Token(c.Params.Get("userid"), c.Params.Get("tokenid"))

	return err
}

// deleteToken handles DELETE /access/users/{userid}/token/{tokenid}.
func (s *Service) deleteToken(c *api.Call) (any, error) {
	if err := s.checkToken(c); err != nil {
		return nil, err
	}

	return s.edit("deleting token failed", func(db *access.Database) error {
		user, name := c.Params.Get("userid"), c.Params.Get("tokenid")
		if _, err := db.Token(user, name); err != nil {
			return err
		}

		delete(db.Users[user].Tokens, name)
		db.RemoveSubject(access.KindToken, fmt.Sprintf("%s!%s", user, name))

		return nil
	})
}

func (s *Service) tokenMethods() []api.Method {
	const base = "/access/users/{userid}/token"

	return []api.Method{
		api.Get(base, s.listTokens),
		api.Get(base+"/{tokenid}", s.getToken),
		api.Post(base+"/{tokenid}", s.createToken),
		api.Put(base+"/{tokenid}", s.updateToken),
		api.Delete(base+"/{tokenid}", s.deleteToken),
	}
}
