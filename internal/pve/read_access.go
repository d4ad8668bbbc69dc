package pve

import (
	"context"
	"net/url"
	"strings"
)

// Version of Proxmox VE, as 8.4.1.
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
