package truenas

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/remedy"
)

// Account is a user that logs in with an API key and has the roles that it needs. User, privilege and key have the same name.
type Account struct {
	// Name of the user. Required.
	Name string `json:"name"`
	// Roles of the user, e.g. DATASET_WRITE. Required.
	Roles []string `json:"roles"`
	// HasKey is whether its API key is there, and neither revoked nor expired. Required.
	HasKey bool `json:"hasKey"`
	// Owner is the stack that creates it. Required.
	Owner string `json:"owner"`
}

type foundUser struct {
	ID       int    `json:"id"`
	FullName string `json:"full_name"`
	Group    struct {
		GID int `json:"bsdgrp_gid"`
	} `json:"group"`
}

type foundPrivilege struct {
	ID    int      `json:"id"`
	Roles []string `json:"roles"`
}

type foundKey struct {
	ID      int    `json:"id"`
	Revoked bool   `json:"revoked"`
	User    string `json:"username"`
	Expires *date  `json:"expires_at"` // nil for a key without an end
}

// date is a time in the JSON of TrueNAS.
type date struct {
	Milliseconds int64 `json:"$date"`
}

func (k foundKey) hasExpired() bool {
	return k.Expires != nil && k.Expires.Milliseconds < time.Now().UnixMilli()
}

func (k foundKey) isUsable() bool { return !k.Revoked && !k.hasExpired() }

// first returns the first object that a query for a field finds; nil if there is none.
func first[T any](ctx context.Context, c *Client, namespace, field, value string) (*T, error) {
	var found []T
	err := c.Call(ctx, &found, namespace+".query", []any{[]any{field, "=", value}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// FindAccount returns the account as it is; nil if there is no such user.
func (c *Client) FindAccount(ctx context.Context, wanted Account) (*Account, error) {
	user, err := first[foundUser](ctx, c, "user", "username", wanted.Name)
	if err != nil || user == nil {
		return nil, err
	}
	found := &Account{Name: wanted.Name, Roles: []string{}, Owner: wanted.Owner}
	privilege, err := first[foundPrivilege](ctx, c, "privilege", "name", wanted.Name)
	if err != nil {
		return nil, err
	}
	if privilege != nil {
		found.Roles = sameOrder(privilege.Roles, wanted.Roles)
	}
	key, err := first[foundKey](ctx, c, "api_key", "name", wanted.Name)
	found.HasKey = err == nil && key != nil && key.isUsable() && key.User == wanted.Name
	return found, err
}

// WriteAccount creates what is missing of an account and corrects its roles. It returns an API key if it made one: for a new account, for an account
// whose key is gone, revoked or expired, and if known is false. A key that has expired has no end from then on. known is whether the key of the account is known already. It refuses, with nothing written, if
// another user has a key of that name: names of keys are unique on a box, and a reset would cut off what uses that key.
func (c *Client) WriteAccount(ctx context.Context, wanted Account, known bool) (key string, err error) {
	found, err := first[foundKey](ctx, c, "api_key", "name", wanted.Name)
	if err == nil && found != nil {
		err = found.checkIsOf(wanted)
	}
	if err != nil {
		return "", err
	}
	user, err := c.ensureUser(ctx, wanted)
	if err != nil {
		return "", err
	}
	if err := c.ensurePrivilege(ctx, wanted, user.Group.GID); err != nil {
		return "", err
	}
	if known && found != nil && found.isUsable() {
		return "", nil
	}
	var made struct {
		Key string `json:"key"`
	}
	if found == nil {
		err = c.Call(ctx, &made, "api_key.create", map[string]any{"name": wanted.Name, "username": wanted.Name})
		return made.Key, err
	}
	reset := map[string]any{"reset": true}
	if found.hasExpired() {
		reset["expires_at"] = nil
	}
	err = c.Call(ctx, &made, "api_key.update", found.ID, reset)
	return made.Key, err
}

// checkIsOf refuses a key of another user than the account's.
func (k foundKey) checkIsOf(wanted Account) error {
	if k.User == wanted.Name {
		return nil
	}
	return remedy.Errorf("rename that key in Credentials > Users > API Keys, then run up again", "the API key %[1]s on TrueNAS is of %[2]s, and was not touched (an account and its key have one name, and names of keys are unique)",
		wanted.Name, cmp.Or(k.User, "no user"))
}

// ensureUser creates a user that cannot log in by a password.
func (c *Client) ensureUser(ctx context.Context, wanted Account) (*foundUser, error) {
	user, err := first[foundUser](ctx, c, "user", "username", wanted.Name)
	if err != nil || user != nil {
		return user, err
	}
	user = &foundUser{}
	return user, c.Call(ctx, user, "user.create", map[string]any{
		"username": wanted.Name, "full_name": ownerComment(wanted.Owner), "group_create": true, "password_disabled": true, "smb": false,
		"shell": "/usr/sbin/nologin",
	})
}

func (c *Client) ensurePrivilege(ctx context.Context, wanted Account, gid int) error {
	privilege, err := first[foundPrivilege](ctx, c, "privilege", "name", wanted.Name)
	given := map[string]any{"local_groups": []int{gid}, "roles": wanted.Roles}
	switch {
	case err != nil:
		return err
	case privilege == nil:
		given["name"], given["web_shell"] = wanted.Name, false
		return c.Call(ctx, nil, "privilege.create", given)
	case !slices.Equal(sameOrder(privilege.Roles, wanted.Roles), wanted.Roles):
		return c.Call(ctx, nil, "privilege.update", privilege.ID, given)
	default:
		return nil
	}
}

// RemoveAccount deletes the key, the privilege and the user of this stack, in that order. A key of that name of another user stays.
func (c *Client) RemoveAccount(ctx context.Context, wanted Account) (*Kept, error) {
	user, err := first[foundUser](ctx, c, "user", "username", wanted.Name)
	if err != nil || user == nil {
		return nil, err
	}
	if user.FullName != ownerComment(wanted.Owner) {
		return &Kept{"the user " + wanted.Name + " stays on TrueNAS: it was there before this stack"}, nil
	}
	key, err := first[foundKey](ctx, c, "api_key", "name", wanted.Name)
	if err == nil && key != nil && key.User == wanted.Name {
		err = gone(c.Call(ctx, nil, "api_key.delete", key.ID))
	}
	if err != nil {
		return nil, err
	}
	privilege, err := first[foundPrivilege](ctx, c, "privilege", "name", wanted.Name)
	if err == nil && privilege != nil {
		err = gone(c.Call(ctx, nil, "privilege.delete", privilege.ID))
	}
	if err != nil {
		return nil, err
	}
	return nil, gone(c.Call(ctx, nil, "user.delete", user.ID, map[string]any{"delete_group": true}))
}
