package pve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// Tokens reads and changes the API tokens of Proxmox VE, with the privileges of the connection's own token: User.Modify on
// /access/groups for a token, and for its entries in the access control list Permissions.Modify on their paths. A token has neither for
// itself because it belongs to a user (pve-access-control, RPCEnvironment.pm, exec_api2_perm_check, userid-param self).
type Tokens struct{ client *proxmox.Client }

// NewTokens returns the access to tokens. It sends no request. The error is [ErrToken] or [ErrEndpoint].
func NewTokens(administrator Connection) (Tokens, error) {
	client, err := administrator.Client()
	return Tokens{client}, err
}

// TokenSettings are the settings of a token, without its secret.
type TokenSettings struct {
	// Comment is what the host shows beside it.
	Comment string
	// Expire is when it ends, in seconds since 1970; 0 means never.
	Expire int64
	// Separated tokens have entries of their own in the access control list; others have the privileges of their user.
	Separated bool
}

// tokenPath returns the path of a token USER@REALM!NAME.
func tokenPath(id string) string {
	user, name, _ := strings.Cut(id, "!")
	return "/access/users/" + url.PathEscape(user) + "/token/" + url.PathEscape(name)
}

// Find returns the settings of a token. Found is false if it does not exist. The error is [ErrForbidden] if the connection's token may
// not read it.
func (t Tokens) Find(ctx context.Context, id string) (settings TokenSettings, found bool, err error) {
	var answer struct {
		Comment   string `json:"comment"`
		Expire    int64  `json:"expire"`
		Separated Flag   `json:"privsep"`
	}
	err = Reader(t).get(ctx, &answer, tokenPath(id))
	if err != nil && strings.Contains(err.Error(), "no such token") {
		return TokenSettings{}, false, nil
	}
	return TokenSettings{Comment: answer.Comment, Expire: answer.Expire, Separated: bool(answer.Separated)}, err == nil, err
}

// Create makes a token and returns USER@REALM!NAME=SECRET. The host tells the secret only here.
func (t Tokens) Create(ctx context.Context, id string, settings TokenSettings) (string, error) {
	var answer struct {
		Value string `json:"value"`
	}
	err := t.client.Post(ctx, tokenPath(id), map[string]any{
		"comment": settings.Comment, "expire": settings.Expire, "privsep": flagOf(settings.Separated),
	}, &answer)
	if err != nil {
		return "", fmt.Errorf("make the token %s: %w", id, refusalOf(err))
	}
	return id + "=" + answer.Value, nil
}

// Change gives a token other settings; its secret stays.
func (t Tokens) Change(ctx context.Context, id string, settings TokenSettings) error {
	err := t.client.Put(ctx, tokenPath(id), map[string]any{
		"comment": settings.Comment, "expire": settings.Expire, "privsep": flagOf(settings.Separated),
	}, nil)
	if err != nil {
		return fmt.Errorf("change the token %s: %w", id, refusalOf(err))
	}
	return nil
}

// Delete deletes a token, with its entries in the access control list.
func (t Tokens) Delete(ctx context.Context, id string) error {
	if err := t.client.Delete(ctx, tokenPath(id), nil); err != nil {
		return fmt.Errorf("delete the token %s: %w", id, refusalOf(err))
	}
	return nil
}

// grant is an entry of the access control list.
type grant struct {
	Path      string `json:"path"`
	Type      string `json:"type"`
	Subject   string `json:"ugid"`
	Role      string `json:"roleid"`
	Propagate Flag   `json:"propagate"`
}

// CopyGrants gives a token the entries of another one in the access control list. The list shows only paths whose entries the connection's
// token may change, so compare the privileges afterwards with [SamePrivileges].
func (t Tokens) CopyGrants(ctx context.Context, from, to string) error {
	var list []grant
	if err := Reader(t).get(ctx, &list, "/access/acl"); err != nil {
		return fmt.Errorf("read the access control list: %w", err)
	}
	for _, entry := range list {
		if entry.Type != "token" || entry.Subject != from {
			continue
		}
		err := t.client.Put(ctx, "/access/acl", map[string]any{
			"path": entry.Path, "roles": entry.Role, "tokens": to, "propagate": flagOf(bool(entry.Propagate)),
		}, nil)
		if err != nil {
			return fmt.Errorf("give the token %s the role %s on %s: %w", to, entry.Role, entry.Path, refusalOf(err))
		}
	}
	return nil
}

// SamePrivileges checks that the host accepts a token, and that the token has the privileges of another one on every path. The error states what it
// lacks.
func SamePrivileges(ctx context.Context, wanted, tried Connection) error {
	if _, err := tried.Reach(ctx); err != nil {
		return err
	}
	var has [2]map[string]map[string]Flag
	for i, connection := range []Connection{wanted, tried} {
		reader, err := NewReader(connection)
		if err != nil {
			return err
		}
		if err := reader.get(ctx, &has[i], "/access/permissions"); err != nil {
			return err
		}
	}
	id, _, _ := strings.Cut(tried.Token, "=")
	for _, path := range slices.Sorted(maps.Keys(has[0])) {
		for _, privilege := range slices.Sorted(maps.Keys(has[0][path])) {
			propagates, there := has[1][path][privilege]
			if !there || propagates != has[0][path][privilege] {
				return fmt.Errorf("the token %s has not %s on %s, which the present token has: give the administrator's token Permissions.Modify on /", id, privilege, path)
			}
		}
	}
	return nil
}

// errNotAllowed means that a token may not change the access control.
var errNotAllowed = errors.New("the administrator's token may not do that")

// refusalOf returns the error of a call that changes something, without its URL.
func refusalOf(err error) error {
	if proxmox.IsNotAuthorized(err) {
		return errNotAllowed
	}
	return errors.New(strings.TrimPrefix(withoutURL(err).Error(), "500 "))
}

func flagOf(value bool) int {
	if value {
		return 1
	}
	return 0
}
