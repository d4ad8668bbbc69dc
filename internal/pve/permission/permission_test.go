package permission_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/permission"
)

// site holds the same access control list twice: for the lab, which was written from Proxmox VE's source independently of this package, and for this
// package.
type site struct {
	lab  *access.Database
	list permission.List
}

const (
	user      = "em@pve"
	separated = "em@pve!separated"
	whole     = "em@pve!whole"
)

func newSite() site {
	s := site{access.New(schema.Release91), permission.List{
		Roles: map[string][]string{}, Groups: map[string][]string{user: {"a", "b"}, permission.Administrator: nil}, Separated: map[string]bool{separated: true, whole: false},
	}}
	for name, role := range s.lab.Roles {
		s.list.Roles[name] = role.Privileges
	}
	for _, group := range []string{"a", "b"} {
		s.lab.Groups[group] = &access.Group{}
	}
	s.lab.Users[user] = &access.User{
		Enabled: true, Groups: []string{"a", "b"}, Tokens: map[string]*access.Token{"separated": {Separated: true}, "whole": {}},
	}
	return s
}

func (s *site) grant(g hostspec.Grant) {
	s.list.Grants = append(s.list.Grants, g)
	s.lab.AddGrant(access.Grant{Path: g.Path, Kind: access.SubjectKind(g.Kind), Subject: g.Holder, Role: g.Role, Propagate: !g.Here})
}

// TestPrivilegesAreThoseOfTheLab compares both on random lists.
func TestPrivilegesAreThoseOfTheLab(t *testing.T) {
	t.Parallel()
	paths := []string{"/", "/vms", "/vms/101", "/storage", "/storage/tank"}
	roles := []string{"PVEAdmin", "PVEAuditor", "PVEVMUser", permission.NoAccess, "Administrator"}
	holders := []hostspec.Grant{
		{Kind: hostspec.HolderUser, Holder: user}, {Kind: hostspec.HolderGroup, Holder: "a"}, {Kind: hostspec.HolderGroup, Holder: "b"},
		{Kind: hostspec.HolderToken, Holder: separated},
	}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's own dice
		s, taken := newSite(), map[string]bool{}
		for range random.IntN(7) {
			g := holders[random.IntN(len(holders))]
			g.Path, g.Role, g.Here = paths[random.IntN(len(paths))], roles[random.IntN(len(roles))], random.IntN(3) == 0
			if key := fmt.Sprint(g.Path, g.Role, g.Holder); !taken[key] {
				taken[key] = true
				s.grant(g)
			}
		}
		for _, identity := range []string{user, separated, whole} {
			for _, path := range append(slices.Clone(paths), "/nodes", "/vms/102", "/storage/tank/x") {
				want := map[string]bool{}
				for privilege := range s.lab.Permissions(identity, path) {
					want[privilege] = true
				}
				has := s.list.Privileges(identity, path)
				require.Len(t, has, len(want), "seed %d: %s on %s with %v", seed, identity, path, s.list.Grants)
				for privilege := range want {
					require.True(t, has[privilege], "seed %d: %s on %s with %v", seed, privilege, path, s.list.Grants)
				}
			}
		}
	}
}

// TestNothingIsLostUnseen: if nothing is lost between two random lists, the identity may do on each path what it might do before.
func TestNothingIsLostUnseen(t *testing.T) {
	t.Parallel()
	equal := 0
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a test's own dice
		before, after := newSite(), newSite()
		for _, s := range []*site{&before, &after} {
			for range random.IntN(3) {
				s.grant(hostspec.Grant{
					Kind: hostspec.HolderUser, Holder: user, Path: []string{"/", "/vms"}[random.IntN(2)], Role: []string{"PVEAdmin", "PVEAuditor"}[random.IntN(2)], Here: random.IntN(2) == 0,
				})
			}
		}
		if len(permission.Lost(before.list, after.list, whole)) > 0 {
			continue
		}
		equal++
		for _, path := range []string{"/", "/nodes", "/vms", "/vms/101", "/storage/tank"} {
			has := after.list.Privileges(whole, path)
			for privilege := range before.list.Privileges(whole, path) {
				require.True(t, has[privilege], "seed %d: %s on %s", seed, privilege, path)
			}
		}
	}
	require.Greater(t, equal, 50)
}

// TestWhoMayDoNothing: a user that may not log in is in no list, nor is a token that was deleted.
func TestWhoMayDoNothing(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.grant(hostspec.Grant{Path: "/", Role: "Administrator", Kind: hostspec.HolderUser, Holder: user})
	require.NotEmpty(t, s.list.Privileges(whole, "/vms"))
	require.Empty(t, s.list.Privileges("em@pve!gone", "/vms"))
	require.NotEmpty(t, s.list.Privileges(permission.Administrator, "/vms"))
	without := s.list
	without.Groups = map[string][]string{}
	require.Empty(t, without.Privileges(whole, "/vms"))
	require.Contains(t, permission.Lost(s.list, without, whole), "VM.Audit on /")
	require.Empty(t, permission.Lost(without, s.list, whole))
}
