package pve_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
)

func TestAPoolIsMadeOnceAndDeletedWhenItIsEmpty(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)

	made, err := e.connection.EnsurePool(t.Context(), "k3s-dev", "")
	require.NoError(t, err)
	require.True(t, made)
	made, err = e.connection.EnsurePool(t.Context(), "k3s-dev", "")
	require.NoError(t, err)
	require.False(t, made, "it is there")

	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/pools", map[string]string{"poolid": "k3s-dev", "vms": "9000"}, nil))
	outcome, err := e.connection.ReleasePool(t.Context(), "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, pve.PoolInUse, outcome)

	e.must(http.MethodDelete, "/qemu/9000", url.Values{})
	outcome, err = e.connection.ReleasePool(t.Context(), "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, pve.PoolDeleted, outcome)
	outcome, err = e.connection.ReleasePool(t.Context(), "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, pve.PoolGone, outcome)
}

// TestANestedPoolIsMadeInItsParent: Proxmox VE makes no pool without its parent, and deletes none around another one.
func TestANestedPoolIsMadeInItsParent(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	_, err := e.connection.EnsurePool(t.Context(), "tenants/web", "site")
	require.EqualError(t, err, "the pool tenants/web cannot be made, since its parent tenants is not there: add tenants to pools of hosts.yaml, or make it with `pveum pool add tenants`, then run up again")
	for _, name := range []string{"tenants", "tenants/web"} {
		made, err := e.connection.EnsurePool(t.Context(), name, "site")
		require.NoError(t, err)
		require.True(t, made)
	}
	names, err := e.connection.PoolNames(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"tenants", "tenants/web"}, names)
	for _, release := range []struct {
		name string
		want pve.PoolRelease
	}{{"tenants", pve.PoolInUse}, {"tenants/web", pve.PoolDeleted}, {"tenants", pve.PoolDeleted}} {
		outcome, err := e.connection.ReleasePool(t.Context(), release.name, "site")
		require.NoError(t, err)
		require.Equal(t, release.want, outcome)
	}
	require.Equal(t, []string{"a/b", "a"}, pve.PoolParents("a/b/c"))
}

func TestAPoolOfSomeoneElseIsUsedAndLeftAlone(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.NewPool(t.Context(), "shared", "the team's"))

	made, err := e.connection.EnsurePool(t.Context(), "shared", "")
	require.NoError(t, err)
	require.False(t, made)
	outcome, err := e.connection.ReleasePool(t.Context(), "shared", "")
	require.NoError(t, err)
	require.Equal(t, pve.PoolForeign, outcome)
	pools, err := client.Pools(t.Context())
	require.NoError(t, err)
	require.Len(t, pools, 1)
}

// TestAPoolOfAStackOfHosts checks that such a pool stays when the machines of another stack have gone, even if that stack was there first.
func TestAPoolOfAStackOfHosts(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"it made the pool": "site", "the machines were there first": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, nil)
			made, err := e.connection.EnsurePool(t.Context(), "k3s-dev", first)
			require.NoError(t, err)
			require.True(t, made)
			for _, owner := range []string{"site", ""} {
				made, err = e.connection.EnsurePool(t.Context(), "k3s-dev", owner)
				require.NoError(t, err)
				require.False(t, made, "it is there")
			}
			for _, release := range []struct {
				owner string
				want  pve.PoolRelease
			}{{"", pve.PoolForeign}, {"other", pve.PoolForeign}, {"site", pve.PoolDeleted}} {
				outcome, err := e.connection.ReleasePool(t.Context(), "k3s-dev", release.owner)
				require.NoError(t, err)
				require.Equal(t, release.want, outcome)
			}
		})
	}
}

func TestATokenThatMayNotMakeAPoolIsTold(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		c.Tokens[0].Privileges = []string{"VM.Audit", "VM.Allocate", "VM.Config.Disk", "VM.Config.Network", "VM.Config.HWType", "VM.Config.Options", "Datastore.AllocateSpace", "SDN.Use"}
	})

	_, err := e.connection.EnsurePool(t.Context(), "k3s-dev", "")
	require.EqualError(t, err, "the token may not make the pool k3s-dev: give it the privilege Pool.Allocate on /pool/k3s-dev, or make the pool with `pveum pool add k3s-dev`")
}
