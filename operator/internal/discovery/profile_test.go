package discovery_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// TestANodeIsAskedInTheNetworkOfItsGateway: which of the addresses that a node announces describes it.
func TestANodeIsAskedInTheNetworkOfItsGateway(t *testing.T) {
	t.Parallel()
	const node, other = "192.168.20.31/24", "10.0.40.31/24"
	for _, test := range []struct {
		name      string
		fqdn      string   // that the node has
		addresses []string // in the order of the discovery
		gateways  []string
		want      string
	}{
		{"one network", "old-control-1", []string{node}, []string{"192.168.20.1"}, node},
		{"a host name with a domain", "old-control-1.home.example", []string{node}, []string{"192.168.20.1"}, node},
		{"the network of a NAS first", "old-control-1", []string{other, node}, []string{"192.168.20.1"}, node},
		{"a virtual address first", "old-control-1", []string{"192.168.20.10/32", node}, []string{"192.168.20.1"}, node},
		{"a gateway of IPv6 alone", "old-control-1", []string{other, "fd00:20::31/64"}, []string{"fd00:20::1"}, "fd00:20::31/64"},
		{"no default route", "old-control-1", []string{other, node}, nil, other},
		{"a gateway elsewhere", "old-control-1", []string{other, node}, []string{"172.16.0.1"}, other},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			peer, networks := nodeops.Peer{Name: test.fqdn}, map[netip.Addr]netip.Prefix{}
			for _, text := range test.addresses {
				prefix := netip.MustParsePrefix(text)
				peer.Addresses, networks[prefix.Addr()] = append(peer.Addresses, prefix.Addr()), prefix
			}
			profile, err := discovery.ProfileOf(peer, func(address netip.Addr) (nodeops.Profile, error) {
				answer := nodeops.Profile{Name: "old-control-1", FQDN: test.fqdn, Address: networks[address]}
				for _, gateway := range test.gateways {
					answer.Gateways = append(answer.Gateways, netip.MustParseAddr(gateway))
				}
				return answer, nil
			})
			require.NoError(t, err)
			require.Equal(t, netip.MustParsePrefix(test.want), profile.Address)
			require.Equal(t, "old-control-1", profile.Name)
		})
	}
}

// TestANodeWithoutAnAddressOfItsOwn: each address is named with what is wrong there.
func TestANodeWithoutAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	silent, virtual, stale := netip.MustParseAddr("10.0.40.31"), netip.MustParseAddr("192.168.20.10"), netip.MustParseAddr("192.168.20.31")
	_, err := discovery.ProfileOf(nodeops.Peer{Name: "old-control-1", Addresses: []netip.Addr{silent, virtual, stale}}, func(address netip.Addr) (nodeops.Profile, error) {
		switch address {
		case virtual:
			return nodeops.Profile{FQDN: "old-control-1", Address: netip.PrefixFrom(virtual, 32)}, nil
		case stale:
			return nodeops.Profile{FQDN: "old-control-2", Address: netip.PrefixFrom(stale, 24)}, nil
		default:
			return nodeops.Profile{}, errors.New("its Talos API does not answer")
		}
	})
	require.EqualError(t, err, "old-control-1 does not answer at an address of its own: start it, then try again\n"+
		"10.0.40.31: its Talos API does not answer\n"+
		"192.168.20.10: it is an address without a network, as virtual ones are\n"+
		"192.168.20.31: old-control-2 answers there")
}
