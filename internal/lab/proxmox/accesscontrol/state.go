package accesscontrol

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// Token is an API token with the role it has.
type Token struct {
	// ID is USER@REALM!NAME.
	ID string
	// Secret is the token's value: letters, digits and dashes.
	Secret string
	// Role is the name of the role, and Privileges what it consists of; a built-in role needs none.
	Role       string
	Privileges []string
	// Path is where the role holds, and below; the default is "/".
	Path string
}

// Account is a user who may open a session.
type Account struct {
	// ID is USER@REALM.
	ID string
	// Password opens the session.
	Password string
}

// Adopt completes the users with tokens and accounts. Its mistakes wrap [hardware.ErrInvalid], and then nothing has changed.
func (s *Service) Adopt(tokens []Token, accounts []Account) error {
	fresh := access.New(s.env.Release)

	for _, token := range tokens {
		if err := add(fresh, token); err != nil {
			return err
		}
	}

	for _, account := range accounts {
		if err := fresh.Open(account.ID, account.Password); err != nil {
			return err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.db.Adopt(fresh)

	return nil
}

// add makes a separated token as the documented set-up does: user and token both get the role on the path.
func add(db *access.Database, t Token) error {
	db.SetToken(t.ID, t.Secret, access.Token{Separated: true})

	if len(t.Privileges) > 0 {
		if err := db.SetRole(t.Role, t.Privileges); err != nil {
			return fmt.Errorf("%w: role %s of token %s: %w", hardware.ErrInvalid, t.Role, t.ID, err)
		}
	}

	if _, ok := db.Roles[t.Role]; !ok {
		return fmt.Errorf("%w: role %q of token %s does not exist: give its privileges", hardware.ErrInvalid, t.Role, t.ID)
	}

	path := t.Path
	if path == "" {
		path = "/"
	}

	owner := access.Owner(t.ID)
	db.AddGrant(access.Grant{Path: path, Kind: access.KindUser, Subject: owner, Role: t.Role, Propagate: true})
	db.AddGrant(access.Grant{Path: path, Kind: access.KindToken, Subject: t.ID, Role: t.Role, Propagate: true})

	return nil
}

// kept is what outlives the process.
type kept struct {
	Access *access.Database `json:"access"`
}

// Save returns what is kept, to be written before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Access: s.db}, s.mu.Unlock
}

// Restore takes over what was kept.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Access: access.New(s.env.Release)}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.db = restored.Access

	return nil
}
