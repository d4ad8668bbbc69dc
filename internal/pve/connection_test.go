package pve_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/pve"
)

func TestReach(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	release, err := e.connection.Reach(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^8\.4\.\d+$`, release)
	origin := e.connection.Endpoint
	for _, behind := range []string{"/", "/api2/json", "/api2/json/", "/#v1:0:18:4:::::::"} {
		e.connection.Endpoint = origin + behind
		_, err = e.connection.Reach(t.Context())
		require.NoError(t, err, "the endpoint may end with %s", behind)
	}
}

func TestReachSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	free := loopbacktest.Refused(t)
	secret := rand.Text()
	good := e.connection
	for _, test := range []struct {
		name   string
		change func(*pve.Connection)
		err    string
	}{
		{
			"no answer", func(c *pve.Connection) { c.Endpoint = "https://" + free },
			"proxmox VE does not answer at https://" + free + " (dial tcp " + free + ": connect: connection refused): " +
				"start the host, or correct the endpoint with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`",
		},
		{
			"untrusted certificate", func(c *pve.Connection) { c.Insecure = false },
			"the certificate of Proxmox VE at " + good.Endpoint + " is not trusted (x509: certificate signed by unknown authority): " +
				"give the host a certificate that is, or run `pulumi config set --stack STACK em-infra:proxmoxInsecure true`",
		},
		{
			"wrong secret", func(c *pve.Connection) { c.Token = tokenID + "=" + secret },
			"proxmox VE at " + good.Endpoint + " refuses the token " + tokenID + ": make it with `pveum user token add`, " +
				"or set its secret again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`",
		},
		{"token without a name", func(c *pve.Connection) { c.Token = "root@pam=" + secret }, pve.ErrToken.Error()},
		{"secret alone", func(c *pve.Connection) { c.Token = secret }, pve.ErrToken.Error()},
		{"no token", func(c *pve.Connection) { c.Token = "" }, pve.ErrToken.Error()},
		{"secret with a line break", func(c *pve.Connection) { c.Token = tokenID + "=" + secret + "\n" }, pve.ErrToken.Error()},
		{"no endpoint", func(c *pve.Connection) { c.Endpoint = "" }, pve.ErrEndpoint.Error()},
		{"endpoint without a scheme", func(c *pve.Connection) { c.Endpoint = "vmhost:8006" }, pve.ErrEndpoint.Error()},
		{"endpoint without TLS", func(c *pve.Connection) { c.Endpoint = "http://vmhost:8006" }, pve.ErrEndpoint.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			connection := good
			test.change(&connection)
			_, err := connection.Reach(t.Context())
			if unreached := new(pve.UnreachedError); errors.As(err, &unreached) {
				require.True(t, strings.HasPrefix(test.err, unreached.What+": "), "what is wrong is said without what to do")
			}
			require.EqualError(t, err, test.err)
			require.NotContains(t, err.Error(), secret)
			_, ofGood, _ := strings.Cut(good.Token, "=")
			require.NotContains(t, err.Error(), ofGood)
		})
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for endpoint, origin := range map[string]string{
		"https://vmhost:8006":             "https://vmhost:8006",
		"https://vmhost:8006/":            "https://vmhost:8006",
		"https://vmhost:8006/api2/json":   "https://vmhost:8006",
		"https://vmhost:8006/api2/json/":  "https://vmhost:8006",
		"https://[fd00::8]:8006/#v1:0:18": "https://[fd00::8]:8006",
		" https://vmhost:8006\n":          "https://vmhost:8006",
		"vmhost:8006/api2/json":           "vmhost:8006/api2/json",
		"":                                "",
	} {
		require.Equal(t, origin, pve.Origin(endpoint), endpoint)
	}
}

func TestReachDoesNotKnowTheName(t *testing.T) {
	t.Parallel()
	connection := pve.Connection{Endpoint: "https://vmhost.invalid:8006", Token: tokenID + "=" + rand.Text()}
	_, err := connection.Reach(t.Context())
	require.Regexp(t, "^the name in https://vmhost.invalid:8006 is unknown \\(.*\\): correct it with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`$", err)
}

func TestReachIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt signal received"))
	connection := pve.Connection{Endpoint: "https://127.0.0.1:8006", Token: tokenID + "=" + rand.Text()}
	_, err := connection.Reach(ctx)
	require.EqualError(t, err, "ask Proxmox VE at https://127.0.0.1:8006 for its version: interrupt signal received")
}

func TestTheErrorsOfAConnection(t *testing.T) {
	t.Parallel()
	require.EqualError(t, pve.ErrToken, "the token has not the form USER@REALM!NAME=SECRET: set it again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`")
	require.EqualError(t, pve.ErrEndpoint, "the endpoint of Proxmox VE is no URL such as https://vmhost:8006: set it with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`")
	_, err := pve.NewHost(pve.Connection{Token: "x"})
	require.ErrorIs(t, err, pve.ErrToken)
}
