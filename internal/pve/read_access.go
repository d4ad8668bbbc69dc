package pve

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// Version returns the version of Proxmox VE, e.g. 8.4.1.
func (r Reader) Version(ctx context.Context) (string, error) {
	var answer struct {
		Version string `json:"version"`
	}
	err := r.get(ctx, &answer, "/version")
	return answer.Version, err
}

// Privileges returns the effective privileges of the token on a path of the access control, including those from its owner and
// its pools.
func (r Reader) Privileges(ctx context.Context, path string) ([]string, error) {
	answer := map[string]map[string]int{}
	if err := r.get(ctx, &answer, "/access/permissions", "path", path); err != nil {
		return nil, err
	}
	var names []string
	for name := range answer[path] {
		names = append(names, name)
	}
	return names, nil
}

// SeesAllGuests reports whether the list of guests is complete for the token: it has VM.Audit on /vms and all paths below. With less, the list
// silently omits the others (pve-manager, PVE/API2/Cluster.pm, resources).
func (r Reader) SeesAllGuests(ctx context.Context) (bool, error) {
	const guests = "/vms"
	answer := map[string]map[string]Flag{} // whether each privilege is passed on to the paths below
	err := r.get(ctx, &answer, "/access/permissions", "path", guests)
	return bool(answer[guests]["VM.Audit"]), err
}

// RolePrivileges returns the privileges of a role. Found is false if the role does not exist.
func (r Reader) RolePrivileges(ctx context.Context, role string) (names []string, found bool, err error) {
	answer := map[string]int{}
	err = r.get(ctx, &answer, "/access/roles/"+url.PathEscape(role))
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, false, nil
	}
	for name := range answer {
		names = append(names, name)
	}
	return names, err == nil, err
}

// TokenEnd returns when a token USER@REALM!NAME or its user ends, whichever is first; zero if neither does. The list of users shows it to every token
// that may audit them, while a token may not ask about itself (pve-access-control, API2/User.pm, index). The error is [ErrForbidden] if the list does
// not show the user.
func (r Reader) TokenEnd(ctx context.Context, token string) (time.Time, error) {
	owner, name, _ := strings.Cut(token, "!")
	var users []struct {
		UserID string `json:"userid"`
		Expire int64  `json:"expire"`
		Tokens []struct {
			TokenID string `json:"tokenid"`
			Expire  int64  `json:"expire"`
		} `json:"tokens"`
	}
	if err := r.get(ctx, &users, "/access/users", "full", "1"); err != nil {
		return time.Time{}, err
	}
	for _, user := range users {
		if user.UserID != owner {
			continue
		}
		for _, one := range user.Tokens {
			if one.TokenID == name {
				return firstEnd(user.Expire, one.Expire), nil
			}
		}
	}
	return time.Time{}, ErrForbidden
}

// firstEnd returns the earliest of several times in seconds since 1970; 0 means never.
func firstEnd(seconds ...int64) time.Time {
	var first time.Time
	for _, second := range seconds {
		if at := time.Unix(second, 0).UTC(); second != 0 && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
