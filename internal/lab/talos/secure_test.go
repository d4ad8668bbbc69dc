package talos_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestWorkerWaitsForItsControlPlane: a control plane signs a worker's certificate, so the worker's API opens later.
func TestWorkerWaitsForItsControlPlane(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")

	l.install(102, c.worker())
	l.eventually(func() bool {
		return l.log.has("certificate", "no control plane signs this worker's certificate\n"+l.address(101).String()+": trustd does not answer")
	}, "the worker does not wait")
	require.Equal(t, talos.StageBooting, l.node(102).Stage)

	_, err := c.admin(102).Version(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err), "nobody listens: %v", err)

	l.install(101, c.controlPlane())
	l.waitStage(102, talos.StageRunning)
	c.waitAPI(102)
}

// TestWorkerOfAnotherCluster is refused by the control plane in its configuration.
func TestWorkerOfAnotherCluster(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		worker func(l *lab) []byte
		reason string
	}{
		{"wrong token", func(l *lab) []byte {
			return l.cluster("k3s-dev").worker(func(c *v1alpha1.Config) { c.MachineConfig.MachineToken = "aaaaaa.bbbbbbbbbbbbbbbb" })
		}, "rpc error: code = Unknown desc = Unauthenticated"},
		{
			"another authority", func(l *lab) []byte { return l.anotherCluster("k3s-dev").worker() },
			"x509: certificate signed by unknown authority",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			l.controlPlaneUp("k3s-dev")
			l.install(102, test.worker(l))
			l.eventually(func() bool {
				return l.log.has("certificate", "no control plane signs this worker's certificate\n"+l.address(101).String()+": "+test.reason)
			}, "the worker is not refused")
			require.Equal(t, talos.StageBooting, l.node(102).Stage)
		})
	}
}

func TestKubeconfig(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	for _, ctx := range []context.Context{t.Context(), client.WithNode(t.Context(), l.address(101).String())} {
		raw, err := c.admin(101).Kubeconfig(ctx)
		require.NoError(t, err)

		parsed, err := clientcmd.Load(raw)
		require.NoError(t, err)
		require.Equal(t, "https://"+l.address(101).String()+":6443", parsed.Clusters["k3s-dev"].Server)
		require.Contains(t, parsed.AuthInfos, "admin@k3s-dev")
	}

	_, err := c.admin(102).Kubeconfig(t.Context())
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Equal(t, "kubeconfig is only available on control plane nodes", status.Convert(err).Message())
}

// TestMembers does what `talosctl get members` does: resolve the alias, then list.
func TestMembers(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	reader := c.as(role.Reader, 101)
	ctx := client.WithNode(t.Context(), l.address(102).String())

	definitions, err := safe.StateListAll[*meta.ResourceDefinition](ctx, reader.COSI)
	require.NoError(t, err)

	var found resource.Type

	for definition := range definitions.All() {
		for _, alias := range definition.TypedSpec().AllAliases {
			if alias == "members" {
				found = definition.TypedSpec().Type
			}
		}
	}

	require.Equal(t, clusterres.MemberType, found)

	members, err := safe.StateListAll[*clusterres.Member](ctx, reader.COSI)
	require.NoError(t, err)
	require.Equal(t, 2, members.Len())
	require.Equal(t, "vm-101", members.Get(0).TypedSpec().Hostname)
	require.Equal(t, 6443, members.Get(0).TypedSpec().ControlPlane.APIServerPort)
	require.Equal(t, "vm-102", members.Get(1).TypedSpec().Hostname)
	require.Equal(t, l.address(102), members.Get(1).TypedSpec().Addresses[0])
	require.Equal(t, "Talos (v1.12.4)", members.Get(1).TypedSpec().OperatingSystem)

	_, err = reader.COSI.Get(ctx, resource.NewMetadata("secrets", "OSRootSecrets.secrets.talos.dev", "os", resource.VersionUndefined))
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
}

func TestReadBootID(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$`, c.bootID(101))

	reader, err := c.admin(101).Read(t.Context(), "/etc/shadow")
	require.NoError(t, err)

	_, err = io.ReadAll(reader)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.Equal(t, "stat /etc/shadow: no such file or directory", status.Convert(err).Message())
}

func (c *cluster) bootID(vmid int) string {
	c.lab.t.Helper()

	id, err := c.readBootID(vmid)
	require.NoError(c.lab.t, err)

	return id
}

func (c *cluster) readBootID(vmid int) (string, error) {
	c.lab.t.Helper()

	reader, err := c.admin(vmid).Read(c.lab.t.Context(), "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}

	id, err := io.ReadAll(reader)

	return string(id), errors.Join(err, reader.Close())
}
