package accesscontrol

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// Token is an API token with its role.
type Token struct {
	// ID is USER@REALM!NAME.
	ID string
	// Secret is the token's value: letters, digits and dashes.
	Secret string
	// Role is the name of the role. Privileges are its content, and empty for a built-in role.
	Role       string
	Privileges []string
	// Path is where the role applies, and below; the default is "/".
	Path string
}

// Account is a user who can log in.
type Account struct {
	// ID is USER@REALM.
	ID string
	// Password of the user.
	Password string
}

// Adopt adds tokens and accounts. Its errors wrap [hardware.ErrInvalid]; after an error nothing has changed.
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

// add creates a separated token as the documentation describes: user and token both get the role on the path.
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

// kept is the persistent state.
type kept struct {
	Access *access.Database `json:"access"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Access: s.db}, s.mu.Unlock
}

// Restore loads the persistent state.
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
