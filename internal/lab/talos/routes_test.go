package talos_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// routed returns a patch that adds a default route.
func routed(gateway string, metric uint32) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkInterfaces: v1alpha1.NetworkDeviceList{
			&v1alpha1.Device{DeviceInterface: "eth0", DeviceRoutes: []*v1alpha1.Route{
				{RouteNetwork: "0.0.0.0/0", RouteGateway: gateway, RouteMetric: metric},
			}},
		}}
	}
}

// routes returns the default routes of a node's kernel, with their metrics.
func routes(ctx context.Context, t *testing.T, api *client.Client) map[string]uint32 {
	t.Helper()
	var list safe.List[*network.RouteStatus]
	polltest.Until(t, func() (answers bool) { // a client that was refused while the machine was off tries again by and by
		var err error
		list, err = safe.StateListAll[*network.RouteStatus](ctx, api.COSI)
		return err == nil
	})
	found := map[string]uint32{}
	for status := range list.All() {
		require.False(t, status.TypedSpec().Destination.IsValid(), "as Talos shows a default route")
		found[status.TypedSpec().Gateway.String()] = status.TypedSpec().Priority
	}
	return found
}

// TestRoutesOfDriveAndConfigurationAddUp: a second default route with the same metric is refused, and the former gateway
// stays; after a reboot the drive's route comes first again. A route with another metric is added.
func TestRoutesOfDriveAndConfigurationAddUp(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	hardware := l.hardware(101)
	hardware.CloudInit.Gateway = netip.MustParseAddr("127.0.0.1")
	require.NoError(t, l.fleet.PowerOn(t.Context(), hardware))
	l.waitStage(101, talos.StageMaintenance)

	c := l.cluster("k3s-dev")
	l.apply(101, c.controlPlane(routed("127.0.0.1", 0)))
	l.waitStage(101, talos.StageRunning)
	c.waitAPI(101)
	api := c.admin(101)
	require.Equal(t, map[string]uint32{"127.0.0.1": 1024}, routes(t.Context(), t, api), "two equal ones are one")

	apply := func(gateway string, metric uint32) {
		t.Helper()
		_, err := api.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
			Data: c.controlPlane(routed(gateway, metric)), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
		})
		require.NoError(t, err)
	}
	apply("127.0.0.254", 0)
	require.Equal(t, map[string]uint32{"127.0.0.1": 1024}, routes(t.Context(), t, api), "file exists")
	apply("127.0.0.254", 512)
	require.Equal(t, map[string]uint32{"127.0.0.1": 1024, "127.0.0.254": 512}, routes(t.Context(), t, api), "the lower metric is used")

	c.replace(t, 101, func(h *talos.Hardware) { h.CloudInit.Gateway = netip.MustParseAddr("127.0.0.254") })
	require.NotContains(t, routes(t.Context(), t, c.admin(101)), "127.0.0.1", "Talos reads the drive at every boot")
}
