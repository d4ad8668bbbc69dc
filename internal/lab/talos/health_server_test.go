package talos_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	clusterapi "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestANodeMakesTheHealthChecks does what `talosctl health` does: a node checks the whole cluster, up to the first check that
// needs Kubernetes, which this cluster does not have.
func TestANodeMakesTheHealthChecks(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	c.waitAPI(102)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	// The nodes that the caller names are checked, including one that does not serve the call.
	stream, err := c.as(role.Reader, 101).ClusterHealthCheck(ctx, time.Hour, &clusterapi.ClusterInfo{
		ControlPlaneNodes: []string{l.address(101).String()}, WorkerNodes: []string{l.address(102).String()},
	})
	require.NoError(t, err)

	var lines []string

	for {
		progress, err := stream.Recv()
		require.NoError(t, err, "%q", lines)

		lines = append(lines, progress.GetMessage())
		if lines[len(lines)-1] == "waiting for all k8s nodes to report: ..." {
			break
		}
	}

	require.Equal(t, fmt.Sprintf("discovered nodes: [%q %q]", l.address(101), l.address(102)), lines[0])
	require.Contains(t, lines, "waiting for etcd to be healthy: OK")
	require.Contains(t, lines, "waiting for all nodes to finish boot sequence: OK")

	cancel()

	for err == nil {
		_, err = stream.Recv()
	}

	require.NotErrorIs(t, err, io.EOF)
	require.Equal(t, codes.Canceled, status.Code(err))
}

// TestHealthChecksEndWithTheirTime checks the error after the caller's timeout.
func TestHealthChecksEndWithTheirTime(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	stream, err := c.admin(101).ClusterHealthCheck(t.Context(), time.Nanosecond, &clusterapi.ClusterInfo{})
	require.NoError(t, err)

	for err == nil {
		_, err = stream.Recv()
	}

	require.ErrorContains(t, err, context.DeadlineExceeded.Error())
}

// TestLinksAndTheirAddresses checks what `talosctl get links` and `get addresses` list, in maintenance mode and after it.
func TestLinksAndTheirAddresses(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	mac := nethelpers.HardwareAddr(l.hardware(101).NICs[0].MAC)
	waiting := l.insecure(101)

	link, err := safe.StateGetByID[*network.LinkStatus](t.Context(), waiting.COSI, "eth0")
	require.NoError(t, err)
	require.Equal(t, mac, link.TypedSpec().HardwareAddr)
	require.Equal(t, uint32(1500), link.TypedSpec().MTU)
	require.True(t, link.TypedSpec().Physical())

	addresses, err := safe.StateListAll[*network.AddressStatus](t.Context(), waiting.COSI)
	require.NoError(t, err)

	var ids []string
	for address := range addresses.All() {
		ids = append(ids, address.Metadata().ID())
	}

	require.Equal(t, []string{fmt.Sprintf("eth0/%s/24", l.address(101)), "lo/127.0.0.1/8"}, ids)

	c := l.cluster("k3s-dev")
	l.apply(101, c.controlPlane(func(cfg *v1alpha1.Config) {
		cfg.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkInterfaces: []*v1alpha1.Device{{ //nolint:staticcheck // the form in use
			DeviceSelector: &v1alpha1.NetworkDeviceSelector{NetworkDeviceHardwareAddress: net.HardwareAddr(mac).String()},
			DeviceMTU:      9000, DeviceAddresses: []string{"10.0.40.11/24"},
		}}}
	}))
	c.waitAPI(101)

	link, err = safe.StateGetByID[*network.LinkStatus](t.Context(), c.admin(101).COSI, "eth0")
	require.NoError(t, err)
	require.Equal(t, uint32(9000), link.TypedSpec().MTU)

	_, err = safe.StateGetByID[*network.AddressStatus](t.Context(), c.admin(101).COSI, "eth0/10.0.40.11/24")
	require.NoError(t, err)
}
