package truenas

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/em-infra/em-infra/internal/remedy"
)

// handshakeTimeout is how long a box may take to answer the first request.
const handshakeTimeout = 20 * time.Second

// ErrNoAnswer is wrapped by the error of a connection that nothing answers. A box that answers and refuses the login does not count.
var ErrNoAnswer = errors.New("TrueNAS does not answer")

// Connection is how a box is reached and who logs in.
type Connection struct {
	// Endpoint is the URL of the box, https://HOST or https://HOST:PORT. Required. http is accepted on loopback only: the box
	// revokes a key that it receives in clear (plugins/auth.py, login_ex).
	Endpoint string
	// Fingerprint is the SHA-256 of the box's certificate, 64 hexadecimal digits with or without colons. Default: empty, the
	// certificate is verified.
	Fingerprint string
	// CA are the authorities that the certificate is verified with, in PEM. Default: empty, those of this machine.
	CA string
	// Username is the user that the API key belongs to. Required.
	Username string
	// APIKey of that user. Required, secret.
	APIKey string
}

// Check returns what is wrong with the connection; nil if nothing is.
func (c Connection) Check() error {
	location, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || location.Host == "":
		return remedy.Errorf("write one like https://nas.example", "the endpoint of TrueNAS %q is no URL", c.Endpoint)
	case location.Scheme == "http" && !isLoopback(location.Hostname()):
		return remedy.Errorf("write https, since the box revokes an API key that it receives in clear", "the endpoint of TrueNAS is %s", c.Endpoint)
	case location.Scheme != "https" && location.Scheme != "http":
		return remedy.Errorf("write one like https://nas.example", "the endpoint of TrueNAS %q has another scheme", c.Endpoint)
	case c.Username == "":
		return remedy.Errorf("name the one whose API key it is", "the user of TrueNAS is missing")
	case c.APIKey == "":
		return remedy.Errorf("make one in Credentials > Users > API Keys of its web interface", "the API key of TrueNAS is missing")
	}
	_, err = c.tls()
	return err
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || host == "localhost"
}

// ParseFingerprint returns the 32 bytes of a fingerprint.
func ParseFingerprint(text string) ([]byte, error) {
	sum, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(sum) != sha256.Size {
		return nil, remedy.Errorf("show it with `openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -fingerprint -sha256`", "a fingerprint is the SHA-256 of a certificate, 64 hexadecimal digits")
	}
	return sum, nil
}

// errOtherCertificate is the error of a box whose certificate has another fingerprint.
type errOtherCertificate struct{ got string }

func (e errOtherCertificate) Error() string {
	return "the certificate of TrueNAS has the fingerprint " + e.got + ", which is not the one of the inventory: " + e.Remedy()
}

// Remedy returns what to do.
func (errOtherCertificate) Remedy() string {
	return "compare it with the one on the box, and change it there if it was renewed"
}

// tls returns how the certificate is verified: by its fingerprint alone, or by authorities.
func (c Connection) tls() (*tls.Config, error) {
	if c.Fingerprint != "" {
		wanted, err := ParseFingerprint(c.Fingerprint)
		if err != nil {
			return nil, err
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS12,
			// Verified below, on every connection.
			InsecureSkipVerify: true, //nolint:gosec // the fingerprint is compared
			VerifyConnection: func(state tls.ConnectionState) error {
				got := sha256.Sum256(state.PeerCertificates[0].Raw)
				if string(got[:]) != string(wanted) {
					return errOtherCertificate{strings.ToUpper(hex.EncodeToString(got[:]))}
				}
				return nil
			},
		}, nil
	}
	if c.CA == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(c.CA)) {
		return nil, remedy.Errorf("export it in Credentials > Certificates of its web interface", "the CA of TrueNAS holds no certificate in PEM")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

// Open connects and logs in. Its error is a sentence with what to do.
func (c Connection) Open(ctx context.Context) (*Client, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	settings, err := c.tls()
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{TLSClientConfig: settings, HandshakeTimeout: handshakeTimeout, Proxy: http.ProxyFromEnvironment}
	location := "ws" + strings.TrimPrefix(strings.TrimSuffix(c.Endpoint, "/"), "http") + "/api/current"
	socket, response, err := dialer.DialContext(ctx, location, nil)
	if err != nil {
		return nil, c.unreachable(err, response)
	}
	client := newClient(socket)
	if err := client.login(ctx, c.Username, c.APIKey); err != nil {
		_ = client.Close() // it may be broken, which the error of the login says
		return nil, err
	}
	return client, nil
}

// unreachable says why there is no connection.
func (c Connection) unreachable(err error, response *http.Response) error {
	var (
		other   errOtherCertificate
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case response != nil && response.StatusCode == http.StatusNotFound:
		return remedy.Errorf("it is older than 25.04, update it", "TrueNAS at %s has no JSON-RPC API", c.Endpoint)
	case response != nil:
		return remedy.Errorf("name the box itself, or a proxy that passes WebSockets on", "TrueNAS at %s answers %s instead of a WebSocket", c.Endpoint, response.Status)
	case errors.As(err, &other):
		return other
	case errors.As(err, &unknown):
		return remedy.Errorf("give storage.fingerprint or storage.caFile", "the certificate of TrueNAS at %s is not signed by an authority that this machine trusts", c.Endpoint)
	case errors.As(err, &name):
		return remedy.Errorf("use that name, or give storage.fingerprint", "the certificate of TrueNAS at %s is for another name (%w)", c.Endpoint, err)
	case errors.As(err, &invalid):
		return remedy.Errorf("renew it on the box, or give storage.fingerprint", "the certificate of TrueNAS at %s is not valid (%w)", c.Endpoint, err)
	case isSilence(err):
		return remedy.Errorf("check the address, and that the box is on", "%w at %s (%w)", ErrNoAnswer, c.Endpoint, err)
	default:
		return remedy.Errorf("check the address, and that TrueNAS serves HTTPS there", "there is no connection to TrueNAS at %s (%w)", c.Endpoint, err)
	}
}

// isSilence reports whether a connection failed because nothing answered. An answer in another protocol than TLS 1.2 or HTTP is no silence, and
// neither is a run that was cancelled.
func isSilence(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if failed := new(net.OpError); errors.As(err, &failed) {
		return failed.Op == "dial" || failed.Op == "read" || failed.Op == "write" // an alert of the other side is a "remote error" (crypto/tls)
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
