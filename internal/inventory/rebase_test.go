package inventory_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRebaseMovesTheNodeNetworkAndNothingElse(t *testing.T) {
	t.Parallel()
	inv, want := load(t, "valid-every-key"), load(t, "valid-every-key")
	moved, err := inv.Rebase(netip.MustParsePrefix("127.20.0.0/24"))
	require.NoError(t, err)

	requireSame(t, want, inv, "the original changed")
	want.Cluster.Network.CIDR = netip.MustParsePrefix("127.20.0.0/24")
	want.Cluster.Network.Gateway = netip.MustParseAddr("127.20.0.1")
	want.Cluster.Network.Nameservers[0].Address = netip.MustParseAddr("127.20.0.1")
	want.Cluster.Kubernetes.Endpoint.VIP = netip.MustParseAddr("127.20.0.10")
	want.Nodes[0].Address = netip.MustParseAddr("127.20.0.11")
	want.Nodes[1].Address = netip.MustParseAddr("127.20.0.31")
	requireSame(t, want, moved)
	require.Equal(t, "https://127.20.0.10:6443", moved.Cluster.EndpointURL().String())
}

func TestRebaseMovesAnEndpointByAddress(t *testing.T) {
	t.Parallel()
	moved, err := load(t, "valid-endpoint-by-address").Rebase(netip.MustParsePrefix("127.1.2.0/24"))
	require.NoError(t, err)
	require.Equal(t, "127.1.2.11", moved.Cluster.Kubernetes.Endpoint.Host)
	moved, err = load(t, "valid-endpoint-by-name").Rebase(netip.MustParsePrefix("127.1.2.0/24"))
	require.NoError(t, err)
	require.Equal(t, "api.lab.example", moved.Cluster.Kubernetes.Endpoint.Host)
}

func TestRebaseIPv6(t *testing.T) {
	t.Parallel()
	moved, err := load(t, "valid-ipv6").Rebase(netip.MustParsePrefix("fd00:99:1::/64"))
	require.NoError(t, err)
	require.Equal(t, netip.MustParseAddr("fd00:99:1::11"), moved.Nodes[0].Address)
	require.Equal(t, netip.MustParseAddr("fe80::1"), moved.Cluster.Network.Gateway)
}

// Moving a network to another one and back again gives the original inventory.
func TestRebaseIsReversible(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{"valid-minimal", "valid-ha", "valid-three-hosts", "valid-every-key"} {
		inv := load(t, fixture)
		moved, err := inv.Rebase(netip.MustParsePrefix("127.200.7.0/24"))
		require.NoError(t, err)
		back, err := moved.Rebase(inv.Cluster.Network.CIDR)
		require.NoError(t, err)
		requireSame(t, inv, back, fixture)
	}
}

func TestRebaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ to, want string }{
		"another length": {"127.20.0.0/16", "rebase 192.168.20.0/24 to 127.20.0.0/16: a network only moves to one of the same family and length"},
		"another family": {"fd00::/24", "rebase 192.168.20.0/24 to fd00::/24: a network only moves to one of the same family and length"},
		"an address":     {"127.20.0.1/24", "rebase 192.168.20.0/24 to 127.20.0.1/24: 127.20.0.1/24 is no network: did you mean 127.20.0.0/24?"},
		"the pods":       {"10.244.3.0/24", "rebase 192.168.20.0/24 to 10.244.3.0/24: it overlaps with 10.244.0.0/16 of the pods or services"},
		"the services":   {"10.100.0.0/24", "rebase 192.168.20.0/24 to 10.100.0.0/24: it overlaps with 10.96.0.0/12 of the pods or services"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moved, err := load(t, "valid-minimal").Rebase(netip.MustParsePrefix(test.to))
			require.EqualError(t, err, test.want)
			require.Nil(t, moved)
		})
	}
	_, err := load(t, "valid-minimal").Rebase(netip.Prefix{})
	require.EqualError(t, err, "rebase 192.168.20.0/24 to invalid Prefix: a network only moves to one of the same family and length")
}
