package talos_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestWorkerWaitsForItsControlPlane: a worker's certificate comes from a control plane, so its API opens after one.
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

// TestWorkerOfAnotherCluster is refused by the control plane that its configuration points at.
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

// TestCertificateOfAnotherCluster does not open the API, nor does the API pass for that cluster's.
func TestCertificateOfAnotherCluster(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.controlPlaneUp("k3s-dev")

	_, err := l.anotherCluster("k3s-dev").admin(101).Version(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Contains(t, status.Convert(err).Message(), "x509: certificate signed by unknown authority")

	_, err = l.insecure(101).Disks(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err), "without a certificate: %v", err)
}

// TestServerCertificate names the node, and gives its holder no role.
func TestServerCertificate(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	for _, vmid := range []int{101, 102} {
		leaf := l.serverCertificate(vmid)
		require.NoError(t, leaf.VerifyHostname(l.address(vmid).String()))
		require.NoError(t, leaf.VerifyHostname(fmt.Sprintf("vm-%d", vmid)))
		require.Empty(t, leaf.Subject.Organization)
		require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
	}
}

// TestClientCertificateOfTheWrongKind: a certificate of the cluster that is also good for servers opens nothing.
func TestClientCertificateOfTheWrongKind(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	ca, err := talosx509.NewCertificateAuthorityFromCertificateAndKey(c.bundle.Certs.OS)
	require.NoError(t, err)

	pair, err := talosx509.NewKeyPair(ca, talosx509.Organization(string(role.Admin)), talosx509.NotAfter(time.Now().Add(time.Hour)),
		talosx509.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}))
	require.NoError(t, err)

	settings := clientconfig.NewConfig("test", []string{l.address(101).String()}, c.bundle.Certs.OS.Crt, talosx509.NewCertificateAndKeyFromKeyPair(pair))
	broad, err := client.New(t.Context(), client.WithConfig(settings))
	require.NoError(t, err)
	l.client(broad)

	_, err = broad.Version(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
}

// TestRoles holds Talos' access rules against client certificates of every role.
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

// TestForwarding: any control plane answers for any node, a worker only for itself.
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

// TestMembers is what `talosctl get members` does: resolve the alias, then list.
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

// TestRenewedClient opens the API with a configuration that the node itself has made.
func TestRenewedClient(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	generate := func(ttl time.Duration) (*machine.GenerateClientConfigurationResponse, error) {
		return c.admin(101).GenerateClientConfiguration(t.Context(), &machine.GenerateClientConfigurationRequest{
			Roles: []string{string(role.Reader)}, CrtTtl: durationpb.New(ttl),
		})
	}

	_, err := generate(0)
	require.EqualError(t, err, "rpc error: code = InvalidArgument desc = crt_ttl should be positive")

	answer, err := generate(time.Hour)
	require.NoError(t, err)

	settings, err := clientconfig.FromBytes(answer.GetMessages()[0].GetTalosconfig())
	require.NoError(t, err)
	require.Equal(t, "reader@k3s-dev", settings.Context)

	renewed, err := client.New(t.Context(), client.WithConfig(settings), client.WithEndpoints(l.address(101).String()))
	require.NoError(t, err)
	l.client(renewed)

	_, err = renewed.Version(t.Context())
	require.NoError(t, err)
}

// TestNewNamesAreCertified: a name that is added without a reboot stands in the certificate at once.
func TestNewNamesAreCertified(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	named := func(c *v1alpha1.Config) { c.MachineConfig.MachineCertSANs = []string{"talos.example.org", "192.0.2.7"} }

	for vmid, data := range map[int][]byte{101: c.controlPlane(named), 102: c.worker(named)} {
		_, err := c.admin(vmid).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
			Data: data, Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
		})
		require.NoError(t, err)
		l.eventually(func() bool {
			leaf := l.serverCertificate(vmid)

			return leaf.VerifyHostname("talos.example.org") == nil && leaf.VerifyHostname("192.0.2.7") == nil
		}, "the certificate of machine %d has not the new names", vmid)
	}
}

// serverCertificate is what a machine shows at its API.
func (l *lab) serverCertificate(vmid int) *x509.Certificate {
	l.t.Helper()

	conn, err := tls.Dial("tcp", netip.AddrPortFrom(l.address(vmid), 50000).String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // looks at the certificate only
	require.NoError(l.t, err)

	leaf := conn.ConnectionState().PeerCertificates[0]
	require.NoError(l.t, conn.Close())

	return leaf
}
