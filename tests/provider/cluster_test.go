package provider_test

import (
	"testing"

	"github.com/bpg/terraform-provider-proxmox/proxmox/access"
	"github.com/bpg/terraform-provider-proxmox/proxmox/nodes"
	"github.com/bpg/terraform-provider-proxmox/proxmox/pools"
	"github.com/bpg/terraform-provider-proxmox/proxmox/types"
	"github.com/bpg/terraform-provider-proxmox/proxmox/version"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// TestWhatIsAroundMachines is what the provider asks for besides VMs, on both releases: roles, users and what they may, a
// pool, a bridge.
func TestWhatIsAroundMachines(t *testing.T) {
	t.Parallel()
	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			ctx, l := t.Context(), newLab(t, release, func(c *proxmox.Config) {
				c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
			})
			host, err := (&version.Client{Client: l.Client.Client}).Version(ctx)
			require.NoError(t, err)
			require.Contains(t, host.Version, string(release))

			rights := access.Client{Client: l.Client.Client}
			require.NoError(t, rights.CreateRole(ctx, &access.RoleCreateRequestBody{ID: "Watcher", Privileges: types.CustomPrivileges{"VM.Audit"}}))
			role, err := rights.GetRole(ctx, "Watcher")
			require.NoError(t, err)
			require.Equal(t, types.CustomPrivileges{"VM.Audit"}, *role)
			require.NoError(t, rights.CreateUser(ctx, &access.UserCreateRequestBody{ID: "ci@pve"}))
			require.NoError(t, rights.UpdateACL(ctx, &access.ACLUpdateRequestBody{Path: "/vms", Roles: []string{"Watcher"}, Users: []string{"ci@pve"}}))
			acl, err := rights.GetACL(ctx)
			require.NoError(t, err)
			propagated := types.CustomBool(true)
			require.Contains(t, acl, access.ACLGetResponseData{
				Path: "/vms", Propagate: &propagated, RoleID: "Watcher", Type: "user", UserOrGroupID: "ci@pve",
			})

			pool := pools.Client{Client: l.Client.Client}
			require.NoError(t, pool.CreatePool(ctx, &pools.PoolCreateRequestBody{ID: "k3s"}))
			require.NoError(t, pool.UpdatePool(ctx, "k3s", &pools.PoolUpdateRequestBody{VMs: &types.CustomCommaSeparatedList{"9000"}}))
			found, err := pool.GetPool(ctx, "k3s")
			require.NoError(t, err)
			require.Equal(t, 9000, *found.Members[0].VMID)
			require.Error(t, pool.DeletePool(ctx, "k3s"), "it is not empty")

			require.NoError(t, l.CreateNetworkInterface(ctx, &nodes.NetworkInterfaceCreateUpdateRequestBody{Iface: "vmbr1", Type: "bridge"}))
			require.NoError(t, l.ReloadNetworkConfiguration(ctx))
			interfaces, err := l.ListNetworkInterfaces(ctx)
			require.NoError(t, err)
			var names []string
			for _, i := range interfaces {
				names = append(names, i.Iface)
			}
			require.Contains(t, names, "vmbr1")
		})
	}
}
