package talos_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"testing"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestCertificateOfAnotherCluster checks that it does not open the API, and that a client of that cluster does not accept the
// API.
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

// TestServerCertificate checks that it names the node, and gives its holder no role.
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

// TestClientCertificateOfTheWrongKind: a certificate of the cluster that is also valid for servers does not open the API.
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

// TestRenewedClient uses a client configuration that the node itself has generated.
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

// TestNewNamesAreCertified: a name that is added without a reboot is in the certificate at once.
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

// serverCertificate returns the certificate of a machine's API.
func (l *lab) serverCertificate(vmid int) *x509.Certificate {
	l.t.Helper()

	conn, err := tls.Dial("tcp", netip.AddrPortFrom(l.address(vmid), 50000).String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // looks at the certificate only
	require.NoError(l.t, err)

	leaf := conn.ConnectionState().PeerCertificates[0]
	require.NoError(l.t, conn.Close())

	return leaf
}
