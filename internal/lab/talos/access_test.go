package talos_test

import (
	"context"
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestRoles compares Talos' access rules with client certificates of every role.
func TestRoles(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	version := func(ctx context.Context, c *client.Client) error { _, err := c.Version(ctx); return err }
	reset := func(ctx context.Context, c *client.Client) error { return c.Reset(ctx, false, true) }
	reboot := func(ctx context.Context, c *client.Client) error { return c.Reboot(ctx) }
	members := func(ctx context.Context, c *client.Client) error {
		_, err := c.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{})

		return err
	}
	kubeconfig := func(ctx context.Context, c *client.Client) error { _, err := c.Kubeconfig(ctx); return err }

	for _, test := range []struct {
		name string
		role role.Role
		call func(context.Context, *client.Client) error
		code codes.Code
	}{
		{"reader reads", role.Reader, version, codes.OK},
		{"reader resets", role.Reader, reset, codes.PermissionDenied},
		{"reader reboots", role.Reader, reboot, codes.PermissionDenied},
		{"reader takes the kubeconfig", role.Reader, kubeconfig, codes.PermissionDenied},
		{"operator resets", role.Operator, reset, codes.PermissionDenied},
		{"operator lists members", role.Operator, members, codes.OK},
		{"backup lists members", role.EtcdBackup, members, codes.OK},
		{"backup reads", role.EtcdBackup, version, codes.PermissionDenied},
		{"stranger reads", role.Role("os:stranger"), version, codes.PermissionDenied},
		{"admin takes the kubeconfig", role.Admin, kubeconfig, codes.OK},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			who := c.as(test.role, 101)

			for name, ctx := range map[string]context.Context{
				"straight":  t.Context(),
				"forwarded": client.WithNode(t.Context(), l.address(101).String()),
			} {
				err := test.call(ctx, who)
				require.Equal(t, test.code, status.Code(err), "%s: %v", name, err)

				if err != nil {
					require.Equal(t, "not authorized", status.Convert(err).Message())
				}
			}
		})
	}
}

// TestForwarding: a control plane forwards calls to any node; a worker answers for itself only.
func TestForwarding(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	first, second, absent := l.address(101).String(), l.address(102).String(), l.address(109).String()

	one, err := hostname(client.WithNode(t.Context(), second), c.admin(101))
	require.NoError(t, err)
	require.Equal(t, "vm-102", one.GetMessages()[0].GetHostname())
	require.Empty(t, one.GetMessages()[0].GetMetadata().GetHostname(), "the answer of one node is passed on as it is")

	many, err := hostname(client.WithNodes(t.Context(), first, second, absent), c.admin(101))
	require.ErrorContains(t, err, absent+": rpc error: code = Unavailable desc = connection error")
	require.Len(t, many.GetMessages(), 2)
	require.ElementsMatch(t, []string{first, second}, []string{
		many.GetMessages()[0].GetMetadata().GetHostname(), many.GetMessages()[1].GetMetadata().GetHostname(),
	}, "the answers of many nodes come in no order, each with its node")

	_, err = hostname(client.WithNode(t.Context(), absent), c.admin(101))
	require.Equal(t, codes.Unavailable, status.Code(err))

	_, err = hostname(client.WithNode(t.Context(), first), c.admin(102))
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.Equal(t, "no request forwarding", status.Convert(err).Message())

	for _, self := range []string{second, "vm-102"} {
		own, err := hostname(client.WithNode(t.Context(), self), c.admin(102))
		require.NoError(t, err)
		require.Equal(t, "vm-102", own.GetMessages()[0].GetHostname())
	}

	_, err = safe.StateListAll[*clusterres.Member](client.WithNodes(t.Context(), first, second), c.admin(101).COSI)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Equal(t, "one-2-many proxying is not supported for COSI methods", status.Convert(err).Message())
}

func hostname(ctx context.Context, c *client.Client) (*machine.HostnameResponse, error) {
	answer, err := c.MachineClient.Hostname(ctx, &emptypb.Empty{})

	return client.FilterMessages(answer, err)
}
