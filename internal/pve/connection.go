// Package pve is the tool's own connection to Proxmox VE, for operations that the provider lacks: checks of the host before a
// run, queries of its content, and the completion of interrupted runs.
package pve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/remedy"
)

// Connection contains the address and credentials of a Proxmox VE API.
type Connection struct {
	// Endpoint is the URL of the API, e.g. https://vmhost:8006. Only its [Origin] counts.
	Endpoint string
	// Token is USER@REALM!NAME=SECRET.
	Token string
	// Insecure accepts any certificate.
	Insecure bool
}

// The time limits of a request. For the report of a host pveproxy waits 30 seconds itself (pve-http-server, PVE/APIServer/AnyEvent.pm,
// proxy_request), so its own answer comes before the limit.
const (
	requestTimeout = 15 * time.Second
	reportTimeout  = 35 * time.Second
)

// tokenForm is what the provider accepts (bpg/terraform-provider-proxmox, proxmox/api/token_auth.go).
var tokenForm = regexp.MustCompile(`^\S+@\S+!\S+=[a-zA-Z0-9-]+$`)

// ErrToken means that the token has the wrong form. It never contains the token.
var ErrToken = remedy.Errorf("set it again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`", "the token has not the form USER@REALM!NAME=SECRET")

// ErrEndpoint means that the endpoint is not a URL of a Proxmox VE API.
var ErrEndpoint = remedy.Errorf("set it with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`", "the endpoint of Proxmox VE is no URL such as https://vmhost:8006")

// Origin returns scheme, host and port of an endpoint, https://vmhost:8006. URLs copied from a manual or a browser end with
// /api2/json, a slash or a fragment; the provider drops a path, too (bpg/terraform-provider-proxmox v0.73.0,
// proxmox/api/client.go, NewConnection). Text that is not a URL is unchanged, so that Client refuses it.
func Origin(endpoint string) string {
	location, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || location.Scheme == "" || location.Host == "" {
		return endpoint
	}
	return location.Scheme + "://" + location.Host
}

// Client returns a client for the connection. The error is [ErrToken] or [ErrEndpoint].
func (c Connection) Client() (*proxmox.Client, error) { return c.client(requestTimeout) }

// client returns a client whose requests end after a time.
func (c Connection) client(timeout time.Duration) (*proxmox.Client, error) {
	if !tokenForm.MatchString(c.Token) {
		return nil, ErrToken
	}
	// The provider takes https only, too (bpg/terraform-provider-proxmox v0.73.0, proxmox/api/client.go).
	origin := Origin(c.Endpoint)
	endpoint, err := url.Parse(origin)
	if err != nil || endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, ErrEndpoint
	}
	id, secret, _ := strings.Cut(c.Token, "=")
	return proxmox.NewClient(origin+"/api2/json", proxmox.WithHTTPClient(c.httpClient(timeout)), proxmox.WithAPIToken(id, secret)), nil
}

// httpClient returns the client for requests without a session.
func (c Connection) httpClient(timeout time.Duration) *http.Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 16,                                                                        // a reader asks many things at once
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: c.Insecure, MinVersion: tls.VersionTLS12}, //nolint:gosec // the user's own choice, as with the provider
	}
	return &http.Client{Transport: loud{passing{transport}}, Timeout: timeout}
}

// Reach queries the version of the host. The error is one sentence: why the host does not answer, and what to do.
func (c Connection) Reach(ctx context.Context) (release string, err error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	version, err := client.Version(ctx)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("ask Proxmox VE at %s for its version: %w", c.Endpoint, context.Cause(ctx))
	case err != nil:
		return "", c.explain(err)
	}
	return version.Version, nil
}

// UnreachedError says why Proxmox VE does not answer, and what to do.
type UnreachedError struct {
	// Reason is the kind of failure.
	Reason Reason
	// What says what is wrong, without what to do.
	What string

	remedy string
	cause  error
}

// Reason is why Proxmox VE does not answer.
type Reason int

// The reasons.
const (
	// NoAnswer means that nothing answers at the endpoint.
	NoAnswer Reason = iota
	// TokenRefused means that the host does not know the token, or not with this secret.
	TokenRefused
	// CertificateUntrusted means that the host's certificate is not trusted here.
	CertificateUntrusted
	// NameUnknown means that the name in the endpoint has no address.
	NameUnknown
)

func (e *UnreachedError) Error() string { return e.What + ": " + e.remedy }

// Remedy returns what to do.
func (e *UnreachedError) Remedy() string { return e.remedy }

func (e *UnreachedError) Unwrap() error { return e.cause }

func (c Connection) explain(err error) error {
	var (
		certificate *tls.CertificateVerificationError
		lookup      *net.DNSError
	)
	err = withoutURL(err)
	id, _, _ := strings.Cut(c.Token, "=")
	unreached := &UnreachedError{cause: err}
	say := func(reason Reason, remedy, format string, args ...any) {
		unreached.Reason, unreached.remedy, unreached.What = reason, remedy, fmt.Sprintf(format, args...)
	}
	switch {
	case proxmox.IsNotAuthorized(err):
		say(TokenRefused, "make it with `pveum user token add`, or set its secret again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`",
			"proxmox VE at %s refuses the token %s", c.Endpoint, id)
	case errors.As(err, &certificate):
		say(CertificateUntrusted, "give the host a certificate that is, or run `pulumi config set --stack STACK em-infra:proxmoxInsecure true`",
			"the certificate of Proxmox VE at %s is not trusted (%v)", c.Endpoint, certificate.Err)
	case errors.As(err, &lookup):
		say(NameUnknown, "correct it with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`", "the name in %s is unknown (%v)", c.Endpoint, err)
	default:
		say(NoAnswer, "start the host, or correct the endpoint with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`",
			"proxmox VE does not answer at %s (%v)", c.Endpoint, err)
	}
	return unreached
}

// withoutURL returns an error without the requested URL, for a sentence that names it already.
func withoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
