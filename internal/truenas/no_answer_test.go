package truenas_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestOnlySilenceIsNoAnswer checks that a box that answers is never taken for a silent one, regardless of what it answers.
func TestOnlySilenceIsNoAnswer(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	open := func(ctx context.Context, change func(*truenas.Connection)) error {
		c := box.Connection
		change(&c)
		_, err := c.Open(ctx)
		require.Error(t, err)
		return err
	}
	as := func(*truenas.Connection) {}
	box.Fail(fault.Fault{Name: "nas-off"})
	require.ErrorIs(t, open(t.Context(), as), truenas.ErrNoAnswer)
	box.Mend()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	at := func(endpoint string) func(*truenas.Connection) {
		return func(c *truenas.Connection) { c.Endpoint = endpoint }
	}
	require.ErrorIs(t, open(short, at("https://"+silent.Addr().String())), truenas.ErrNoAnswer)
	require.ErrorIs(t, open(t.Context(), at("https://127.0.0.1:1")), truenas.ErrNoAnswer)

	for _, name := range []string{"nas-wrong-key", "nas-key-expired", "nas-login-rate-limit", "nas-only-rest"} {
		box.Fail(fault.Fault{Name: name})
		require.NotErrorIs(t, open(t.Context(), as), truenas.ErrNoAnswer, name)
		box.Mend()
	}
	require.NotErrorIs(t, open(t.Context(), func(c *truenas.Connection) { c.Fingerprint = strings.Repeat("00", 32) }), truenas.ErrNoAnswer)
	cancelled, end := context.WithCancel(t.Context())
	end()
	err = open(cancelled, as)
	require.NotErrorIs(t, err, truenas.ErrNoAnswer)
	require.ErrorContains(t, err, "there is no connection to TrueNAS at "+box.Connection.Endpoint+" (")

	inClear := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(inClear.Close)
	err = open(t.Context(), at(strings.Replace(inClear.URL, "http:", "https:", 1)))
	require.NotErrorIs(t, err, truenas.ErrNoAnswer)
	require.ErrorContains(t, err, "(tls: first record does not look like a TLS handshake): check the address, and that TrueNAS serves HTTPS there")
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // of an old box
	old.StartTLS()
	t.Cleanup(old.Close)
	require.NotErrorIs(t, open(t.Context(), at(old.URL)), truenas.ErrNoAnswer)
}

// TestACertificateThatHasExpired checks that a box with an expired certificate counts as one that answers.
func TestACertificateThatHasExpired(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	expired := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(0, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, expired, expired, key.Public(), key)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	_, err = truenas.Connection{Endpoint: server.URL, CA: ca, Username: "em-infra", APIKey: "1-made-up"}.Open(t.Context())
	require.NotErrorIs(t, err, truenas.ErrNoAnswer)
	require.ErrorContains(t, err, "the certificate of TrueNAS at "+server.URL+" is not valid (")
	require.ErrorContains(t, err, "): renew it on the box, or give storage.fingerprint")
}
