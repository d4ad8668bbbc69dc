package proxmox_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

func TestLogin(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	tests := map[string]struct{ token, status string }{
		"no header":     {"", "401 No ticket"},
		"no secret":     {operator, "401 Authentication failed!"},
		"wrong secret":  {operator + "=wrong", "401 Authentication failed!"},
		"unknown token": {"terraform@pve!other=wrong", "401 Authentication failed!"},
		"unknown user":  {"nobody@pve!em-infra=wrong", "401 Authentication failed!"},
		"right":         {l.token, "200 OK"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, err := l.try(context.Background(), test.token, http.MethodGet, "/version", nil)
			require.NoError(t, err)
			require.Equal(t, test.status, r.Status)

			if test.status != "200 OK" {
				require.Empty(t, r.Raw)
				require.True(t, r.Closed)
			}
		})
	}
}

// TestRefusedLoginsAreHeldBack checks the delay that slows down guessing.
func TestRefusedLoginsAreHeldBack(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { c.Pace = scaled(t, 0.05) })
	started := time.Now()

	r, err := l.try(context.Background(), "", http.MethodGet, "/version", nil)
	require.NoError(t, err)
	require.Equal(t, "401 No ticket", r.Status)
	require.GreaterOrEqual(t, time.Since(started), 150*time.Millisecond)
}

func TestStatusLines(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	authorization := "Authorization: PVEAPIToken=" + l.token + "\r\n"
	tests := map[string]struct{ request, status, body string }{
		"a method that is not emulated": {
			"GET /api2/json/cluster/sdn HTTP/1.1\r\n" + authorization,
			"HTTP/1.1 501 Method 'GET /cluster/sdn' not implemented",
			`{"data":null,"message":"Method 'GET /cluster/sdn' not implemented"}`,
		},
		"a verb that the path has not": {
			"PATCH /api2/json/version HTTP/1.1\r\n" + authorization,
			"HTTP/1.1 501 Method 'PATCH /version' not implemented",
			`{"data":null,"message":"Method 'PATCH /version' not implemented"}`,
		},
		"a path outside of the API": {
			"GET /favicon.ico HTTP/1.1\r\n" + authorization, "HTTP/1.1 500 no such file '/favicon.ico'", "",
		},
		"another format": {
			"GET /api2/xml/version HTTP/1.1\r\n" + authorization, "HTTP/1.1 501 no formatter for uri /version, xml", "",
		},
		"no format": {"GET /api2/ HTTP/1.1\r\n" + authorization, "HTTP/1.1 501 no such uri", ""},
		"a missing VM": {
			"GET /api2/json/nodes/vmhost/qemu/101/config HTTP/1.1\r\n" + authorization,
			"HTTP/1.1 500 Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist",
			`{"data":null,"message":"Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist\n"}`,
		},
		"a missing node": {
			"GET /api2/json/nodes/other/status HTTP/1.1\r\n" + authorization,
			"HTTP/1.1 500 hostname lookup 'other' failed - failed to get address info for: other: Name or service not known",
			`{"data":null,"message":"hostname lookup 'other' failed - failed to get address info for: other: Name or service not known\n"}`,
		},
		"a body where none belongs": {
			"DELETE /api2/json/nodes/vmhost/qemu/101 HTTP/1.1\r\nContent-Length: 1\r\n" + authorization + "\r\nx",
			"HTTP/1.1 501 Unexpected content for method 'DELETE'", "",
		},
		"a chunked body": {
			"POST /api2/json/pools HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + authorization + "\r\n0\r\n",
			"HTTP/1.1 501 chunked transfer encoding not supported", "",
		},
		"a body of another kind": {
			"POST /api2/json/pools HTTP/1.1\r\nContent-Type: text/xml\r\nContent-Length: 1\r\n" + authorization + "\r\nx",
			"HTTP/1.1 506 upload 'Content-Type 'text/xml' not implemented", "",
		},
		"a body that is too large": {
			"POST /api2/json/pools HTTP/1.1\r\nContent-Length: 600000\r\n" + authorization, "HTTP/1.1 501 for data too large", "",
		},
		"broken JSON": {
			"POST /api2/json/pools HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1\r\n" + authorization + "\r\n{",
			"HTTP/1.1 500 malformed JSON body: unexpected EOF",
			`{"data":null,"message":"malformed JSON body: unexpected EOF\n"}`,
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			status, body := l.raw(t, test.request)
			require.Equal(t, test.status, status)
			require.Equal(t, test.body, body)
		})
	}
}

// raw sends bytes unchanged and reads until the server closes the connection.
func (l *lab) raw(t *testing.T, request string) (status, body string) {
	t.Helper()

	transport, ok := l.http.Transport.(*http.Transport)
	require.True(t, ok)

	conn, err := tls.Dial("tcp", strings.TrimPrefix(l.base, "https://"), transport.TLSClientConfig)
	require.NoError(t, err)

	defer conn.Close()

	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))

	head, tail, _ := strings.Cut(request, "\r\n\r\n")
	_, err = fmt.Fprintf(conn, "%s\r\nHost: lab\r\n\r\n%s", strings.TrimSuffix(head, "\r\n"), tail)
	require.NoError(t, err)

	reader := bufio.NewReader(conn)

	status, err = reader.ReadString('\n')
	require.NoError(t, err)

	rest, err := io.ReadAll(reader)
	if err != nil {
		// A server that closes on unread data resets the connection.
		require.ErrorAs(t, err, new(*net.OpError))
	}

	_, body, _ = strings.Cut(string(rest), "\r\n\r\n")

	return strings.TrimSpace(status), body
}

func TestHeaders(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	good := l.do(http.MethodGet, "/version", nil)
	require.Equal(t, "application/json;charset=UTF-8", good.Header.Get("Content-Type"))
	require.Equal(t, "pve-api-daemon/3.0", good.Header.Get("Server"))
	require.False(t, good.Closed)

	bad := l.do(http.MethodGet, "/nodes/vmhost/qemu/101/config", nil)
	require.Equal(t, "application/json;charset=UTF-8", bad.Header.Get("Content-Type"))
	require.True(t, bad.Closed)
}

// TestPaths checks that empty steps are ignored and escapes in a path are decoded.
func TestPaths(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	for _, path := range []string{
		"/nodes/vmhost/qemu/9000/config", "/nodes//vmhost/qemu/9000/config/", "/nodes/vmhost/qemu/9000//config",
		"/nodes/vmhost/storage/tank/content/tank:base-9000-disk-0", "/nodes/vmhost/storage/tank/content/base-9000-disk-0",
		"/nodes/vmhost/storage/tank/content/tank%3Abase-9000-disk-0",
	} {
		require.Equal(t, "200 OK", l.do(http.MethodGet, path, nil).Status, path)
	}
}

func TestOnlyHTTP1AndModernTLS(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	address := strings.TrimPrefix(l.base, "https://")
	base := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // only the handshake is looked at

	negotiate := func(change func(*tls.Config)) (*tls.Conn, error) {
		config := base.Clone()
		change(config)

		return tls.Dial("tcp", address, config)
	}

	conn, err := negotiate(func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} })
	require.NoError(t, err)
	require.Equal(t, "http/1.1", conn.ConnectionState().NegotiatedProtocol)
	require.Equal(t, uint16(tls.VersionTLS13), conn.ConnectionState().Version)
	require.NoError(t, conn.Close())

	conn, err = negotiate(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	_, err = negotiate(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 })
	require.ErrorContains(t, err, "protocol version not supported")
}

// TestFingerprint checks that nodes return the fingerprint of their certificate; the provider fails otherwise.
func TestFingerprint(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	var served string

	connection, err := tls.Dial("tcp", strings.TrimPrefix(l.base, "https://"), l.http.Transport.(*http.Transport).TLSClientConfig.Clone())
	require.NoError(t, err)

	for _, b := range sha256.Sum256(connection.ConnectionState().PeerCertificates[0].Raw) {
		served += fmt.Sprintf(":%02X", b)
	}

	require.NoError(t, connection.Close())

	var nodes []struct {
		Fingerprint string `json:"ssl_fingerprint"`
	}

	l.ok(http.MethodGet, "/nodes", nil, &nodes)
	require.Equal(t, served[1:], nodes[0].Fingerprint)
	require.Regexp(t, "^([0-9A-F]{2}:){31}[0-9A-F]{2}$", nodes[1].Fingerprint)
	require.NotEqual(t, nodes[0].Fingerprint, nodes[1].Fingerprint, "each node has its own")
}
