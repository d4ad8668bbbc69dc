package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// The inventory and the components accept what the API descriptions of Proxmox VE accept.
func TestLimitsAreThoseOfTheDescriptions(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			api, err := schema.Load(release)
			require.NoError(t, err)
			create, found := api.Method("POST", "/nodes/{node}/qemu")
			require.True(t, found)
			require.Equal(t, limits.VMID, rangeOf(t, create.Parameters["vmid"]))
			card := create.Parameters["net[n]"].Fields()
			require.Equal(t, limits.VLAN, rangeOf(t, card["tag"]))
			require.Equal(t, limits.MTU.Max, rangeOf(t, card["mtu"]).Max)
			stage, found := api.Method("POST", "/nodes/{node}/network")
			require.True(t, found)
			require.Equal(t, limits.HostMTU, rangeOf(t, stage.Parameters["mtu"]))
			require.Positive(t, limits.MTU.Min, "1 is the MTU of the bridge")
		})
	}
}

func rangeOf(t *testing.T, p *schema.Property) limits.Range {
	t.Helper()
	require.NotNil(t, p)
	return limits.Range{Min: int(*p.Minimum), Max: int(*p.Maximum)}
}

// Proxmox VE accepts every name of the form, and refuses every other name.
func TestNamesAreThoseThatProxmoxAccepts(t *testing.T) {
	t.Parallel()

	names := []string{
		"a", "ab", "A1", "1a", "a-b", "a_b", "a.b", "-a", "a-", ".a", "a.", "a b", "a/b", "a/b/c", "a/b/c/d", "a+b", "ä", "vmbr0",
		"a-name-of-sixteen", "k3s-dev-worker-1.example.org", "eno1.30", "eno1:1", "eno1.30.40", "an_iface_of_16_ch", "enp0s31f6n.4094",
	}
	for _, test := range []struct {
		form   limits.Name
		format string
		// narrower lists names that Proxmox VE accepts and the form does not. The reason is at the form.
		narrower []string
	}{
		{limits.Host, "pve-node", nil},
		{limits.Storage, "pve-storage-id", nil},
		{limits.Pool, "pve-poolid", []string{"1a", "-a", ".a"}},
		{limits.Mapping, "pve-configid", nil},
		{limits.Machine, "dns-name", nil},
		{limits.Tag, "pve-tag", []string{"A1"}},
		{limits.Bridge, "pve-bridge-id", []string{"a-name-of-sixteen", "k3s-dev-worker-1.example.org", "an_iface_of_16_ch"}},
		{limits.Interface, "pve-iface", []string{"eno1:1", "an_iface_of_16_ch"}},
	} {
		t.Run(test.format, func(t *testing.T) {
			t.Parallel()

			var narrower []string
			for _, name := range names {
				accepted := schema.CheckFormat(test.format, name) == nil
				require.True(t, accepted || !test.form.Matches(name), "%s is refused by Proxmox VE", name)
				if accepted && !test.form.Matches(name) {
					narrower = append(narrower, name)
				}
			}
			require.Equal(t, test.narrower, narrower)
		})
	}
}
