package talos_test

import (
	"net/netip"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestConfigurationForAnotherAddress: the two places with the address disagree.
func TestConfigurationForAnotherAddress(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	at := func(addresses ...string) func(*v1alpha1.Config) {
		return func(c *v1alpha1.Config) {
			c.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkInterfaces: v1alpha1.NetworkDeviceList{
				&v1alpha1.Device{DeviceInterface: "eth0", DeviceAddresses: addresses},
			}}
		}
	}

	c := l.cluster("k3s-dev")
	_, err := l.insecure(101).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
		Data: c.controlPlane(at(l.address(102).String() + "/24")),
	})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Equal(t, "runtime configuration validation failed: the machine configuration sets address "+l.address(102).String()+
		", but the machine booted with "+l.address(101).String()+": make the two the same", status.Convert(err).Message())

	l.apply(101, c.controlPlane(at(l.address(101).String()+"/24", "10.20.30.40/24")))
	l.waitStage(101, talos.StageRunning)
}

// TestMachineWithoutAddress boots, but is not reachable.
func TestMachineWithoutAddress(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	machine := l.hardware(101)
	machine.CloudInit.Addresses = nil
	require.NoError(t, l.fleet.PowerOn(t.Context(), machine))
	l.waitStage(101, talos.StageMaintenance)

	_, err := l.insecure(101).Disks(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.NoError(t, l.fleet.Shutdown(t.Context(), 101))
	require.Equal(t, []int{101}, l.poweredOff())
}

// TestLease: without addresses on the configuration drive the machine uses its DHCP reservation.
func TestLease(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	machine := l.hardware(101)
	machine.Leases, machine.CloudInit.Addresses = machine.CloudInit.Addresses, nil
	require.NoError(t, l.fleet.PowerOn(t.Context(), machine))
	l.waitStage(101, talos.StageMaintenance)
	l.apply(101, l.cluster("k3s-dev").controlPlane())
	l.waitStage(101, talos.StageRunning)
	require.Equal(t, l.address(101), l.node(101).Address)
}

// TestSeveralNetworks: a node reports all its addresses and answers on those of the lab.
func TestSeveralNetworks(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")
	elsewhere := netip.MustParsePrefix("10.20.30.40/24")

	machine := l.hardware(101)
	machine.CloudInit.Addresses = []netip.Prefix{elsewhere}
	require.EqualError(t, l.fleet.PowerOn(t.Context(), machine),
		"switch on machine 101: address 10.20.30.40/24 is outside 127.0.0.0/8, where nobody listens: rebase the node network onto loopback")

	machine.CloudInit.Addresses = append(machine.CloudInit.Addresses, l.hardware(101).CloudInit.Addresses[0], netip.MustParsePrefix("fd00::11/64"))
	require.NoError(t, l.fleet.PowerOn(t.Context(), machine))
	l.waitStage(101, talos.StageMaintenance)
	l.apply(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)

	addresses, err := safe.StateGetByID[*network.NodeAddress](t.Context(), c.admin(101).COSI, network.NodeAddressCurrentID)
	require.NoError(t, err)
	require.Equal(t, []netip.Addr{l.address(101), elsewhere.Addr()}, addresses.TypedSpec().IPs())
}
