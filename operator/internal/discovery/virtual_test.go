package discovery_test

import (
	"net/netip"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// TestTheEndpointIsVirtualIfControlPlanesShareIt: a load balancer in the network of the nodes keeps its address.
func TestTheEndpointIsVirtualIfControlPlanesShareIt(t *testing.T) {
	t.Parallel()
	onVLAN := func(c *v1alpha1.Config) {
		sharing("192.168.20.10")(c)
		device := c.MachineConfig.MachineNetwork.NetworkInterfaces[0]
		device.DeviceVlans = v1alpha1.VlanList{{VlanID: 20, VlanVIP: device.DeviceVIPConfig}}
		device.DeviceVIPConfig = nil
	}
	const document = "---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 192.168.20.10\nlink: eth0\n"
	const virtual, host = "endpoint: {vip: 192.168.20.10, port: 6443}\n", "endpoint: {host: 192.168.20.10, port: 6443}\n"
	for _, test := range []struct {
		name          string
		configuration []byte
		change        func(*discovery.Cluster)
		want          string
	}{
		{"shared", configured(t, config.TalosVersion1_12, sharing("192.168.20.10")), nil, virtual},
		{"shared on a VLAN", configured(t, config.TalosVersion1_12, onVLAN), nil, virtual},
		{"shared by a document", append(configured(t, config.TalosVersion1_12), document...), nil, virtual},
		{"a load balancer", configured(t, config.TalosVersion1_12), nil, host},
		{"another address is shared", configured(t, config.TalosVersion1_12, sharing("192.168.20.9")), nil, host},
		{"shared in another network", configured(t, config.TalosVersion1_12, sharing("192.168.20.10")), func(c *discovery.Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Address = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(31 + i)}), 24)
			}
		}, host},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := found(test.configuration)
			if test.change != nil {
				test.change(&cluster)
			}
			require.NoError(t, cluster.Match(machines()))
			files, err := cluster.Describe()
			require.NoError(t, err)
			require.Contains(t, string(files.Cluster), test.want)
		})
	}
}
