package status_test

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestWhatAnswersForANode: only a node that sends nothing is silent. A certificate that is not valid now is a matter of clocks, unless that of the
// talosconfig has ended, as after a year without an up.
func TestWhatAnswersForANode(t *testing.T) {
	t.Parallel()
	const listens, closed = "127.193.78.1", "127.193.78.2"
	bundle, err := secrets.NewBundle(secrets.NewClock(), nil)
	require.NoError(t, err)
	listenUntimely(t, bundle, listens)
	talosconfig, err := talostest.Administrator(t, bundle, "home", netip.MustParseAddr(listens)).Bytes()
	require.NoError(t, err)
	for _, test := range []struct {
		name, address string
		now           time.Time
		silent        bool
		says          string
	}{
		{"nothing listens", closed, time.Now(), true, "connection refused"},
		{"the clocks differ", listens, time.Now(), false, nodeops.ErrUntimely.Error()},
		{"the talosconfig has ended", listens, time.Now().AddDate(20, 0, 0), false, "the certificate of the talosconfig has ended: `em-infra up` renews it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stack := &inventory.Inventory{Cluster: theStack.Cluster, Nodes: inventory.Nodes{theStack.Nodes[0]}}
			stack.Nodes[0].Address = netip.MustParseAddr(test.address)
			report := status.Sources{Inventory: stack, Deployment: inState(), Host: clusterWith(t, nil), Talosconfig: talosconfig}.Report(t.Context(), test.now)
			require.Equal(t, test.silent, report.Machines[0].Silent)
			require.Len(t, report.Machines[0].Node.Unmet, 1)
			require.Contains(t, report.Machines[0].Node.Unmet[0], test.says)
		})
	}
}

// listenUntimely is a node whose certificate has ended.
func listenUntimely(t *testing.T, bundle *secrets.Bundle, address string) {
	t.Helper()
	ca, err := talosx509.NewCertificateAuthorityFromCertificateAndKey(bundle.Certs.OS)
	require.NoError(t, err)
	pair, err := talosx509.NewKeyPair(ca, talosx509.IPAddresses([]net.IP{net.ParseIP(address)}), talosx509.NotAfter(time.Now().Add(-time.Hour)))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(constants.ApidPort)), &tls.Config{
		Certificates: []tls.Certificate{*pair.Certificate}, NextProtos: []string{"h2"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = connection.(*tls.Conn).Handshake(); _ = connection.Close() }()
		}
	}()
}
