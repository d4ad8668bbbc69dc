package nodeops_test

import (
	"net"
	"net/netip"
	"testing"

	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestProfile checks that a node with two IP families and three network cards reports which card has which addresses.
func TestProfile(t *testing.T) {
	t.Parallel()
	storage, routed := net.HardwareAddr{0xbc, 0x24, 0x11, 0, 1, 1}, net.HardwareAddr{0xbc, 0x24, 0x11, 0, 1, 2}
	m, bundle := powerOn(t, func(_ *talos.Config, hardware *talos.Hardware) {
		hardware.UUID = "11111111-2222-4333-8444-555555555555"
		seeded := netip.MustParsePrefix("10.0.41.11/24")
		hardware.NICs = append(hardware.NICs, talos.NIC{MAC: storage}, talos.NIC{MAC: routed, Seeded: []netip.Prefix{seeded}})
		hardware.CloudInit.Addresses = append(hardware.CloudInit.Addresses, seeded)
	}), secretsOf(t, ours)
	first := net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, vmid}
	talostest.Apply(t, m.address, talostest.Generated{
		Secrets: bundle, Cluster: "k3s-dev", Endpoint: m.address, Talos: release, Kubernetes: constants.DefaultKubernetesVersion,
	}.Configuration(t, machinetype.TypeControlPlane, func(c *v1alpha1.Config) {
		c.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkHostname: "k3s-dev-control-1.home.example", NetworkInterfaces: v1alpha1.NetworkDeviceList{
			{
				DeviceSelector:  &v1alpha1.NetworkDeviceSelector{NetworkDeviceHardwareAddress: first.String()},
				DeviceAddresses: []string{m.address.String() + "/24", "fd00:20::11/64"},
				DeviceRoutes: []*v1alpha1.Route{
					{RouteNetwork: "0.0.0.0/0", RouteGateway: "127.0.0.1"}, {RouteNetwork: "::/0", RouteGateway: "fe80::1"},
				},
			},
			{
				DeviceSelector:  &v1alpha1.NetworkDeviceSelector{NetworkDeviceHardwareAddress: storage.String()},
				DeviceAddresses: []string{"10.0.40.11/24", "10.0.40.12/32"}, DeviceMTU: 9000,
			},
		}}
	}))
	m.waitFor(talos.StageRunning)

	profile, err := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}.Profile(t.Context(), m.address)
	require.NoError(t, err)
	require.Equal(t, "k3s-dev-control-1", profile.Name)
	require.Equal(t, "k3s-dev-control-1.home.example", profile.FQDN)
	require.Equal(t, "11111111-2222-4333-8444-555555555555", profile.Firmware)
	require.Equal(t, netip.PrefixFrom(m.address, 24), profile.Address)
	require.Equal(t, netip.MustParsePrefix("fd00:20::11/64"), profile.Address6)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fe80::1")}, profile.Gateways)
	require.Equal(t, []nodeops.Card{
		{MAC: first, MTU: 1500, Addresses: []netip.Prefix{profile.Address, profile.Address6}},
		{MAC: storage, MTU: 9000, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.40.11/24"), netip.MustParsePrefix("10.0.40.12/32")}},
		{MAC: routed, MTU: 1500, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.41.11/24")}},
	}, profile.Cards)
}
