package talos_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestClusterComesUp follows a cluster: maintenance, installation, secure API, bootstrap, second node.
func TestClusterComesUp(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	version, err := c.admin(102).Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v1.12.4", version.GetMessages()[0].GetVersion().GetTag())
	require.Equal(t, "nocloud", version.GetMessages()[0].GetPlatform().GetName())

	require.Equal(t, []talos.Node{
		{
			VMID: 101, Name: "vm-101", Stage: talos.StageRunning, Address: l.address(101), Cluster: "k3s-dev",
			Type: machinetype.TypeControlPlane, Release: release(t, installerImage), Bootstrapped: true,
		},
		{
			VMID: 102, Name: "vm-102", Stage: talos.StageRunning, Address: l.address(102), Cluster: "k3s-dev",
			Type: machinetype.TypeWorker, Release: release(t, installerImage),
		},
	}, l.fleet.Nodes())
}

func release(t *testing.T, image string) talos.Release {
	t.Helper()

	r, err := talos.ReleaseFromReference(image)
	require.NoError(t, err)

	return r
}

func TestBootstrapHappensOnce(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	err := c.admin(101).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	require.Equal(t, "rpc error: code = AlreadyExists desc = etcd data directory is not empty", err.Error())
}
