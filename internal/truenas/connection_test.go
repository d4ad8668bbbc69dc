package truenas_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/truenas"
)

func TestConnectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := truenas.Connection{Endpoint: "https://nas.example", Username: "em-infra", APIKey: "1-made-up"}
	for text, change := range map[string]func(*truenas.Connection){
		`the endpoint of TrueNAS "nas.example" is no URL: write one like https://nas.example`:                                                                                           func(c *truenas.Connection) { c.Endpoint = "nas.example" },
		"the endpoint of TrueNAS is http://nas.example: write https, since the box revokes an API key that it receives in clear":                                                        func(c *truenas.Connection) { c.Endpoint = "http://nas.example" },
		`the endpoint of TrueNAS "ftp://nas.example" has another scheme: write one like https://nas.example`:                                                                            func(c *truenas.Connection) { c.Endpoint = "ftp://nas.example" },
		"the user of TrueNAS is missing: name the one whose API key it is":                                                                                                              func(c *truenas.Connection) { c.Username = "" },
		"the API key of TrueNAS is missing: make one in Credentials > Users > API Keys of its web interface":                                                                            func(c *truenas.Connection) { c.APIKey = "" },
		"the CA of TrueNAS holds no certificate in PEM: export it in Credentials > Certificates of its web interface":                                                                   func(c *truenas.Connection) { c.CA = "none" },
		"a fingerprint is the SHA-256 of a certificate, 64 hexadecimal digits: show it with `openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -fingerprint -sha256`": func(c *truenas.Connection) { c.Fingerprint = "AB:CD" },
	} {
		c := good
		change(&c)
		require.EqualError(t, c.Check(), text)
	}
	require.NoError(t, good.Check())
	good.Endpoint = "http://127.0.0.1:8080"
	require.NoError(t, good.Check())
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	open := func(change func(*truenas.Connection)) error {
		c := box.Connection
		change(&c)
		client, err := c.Open(t.Context())
		if err == nil {
			require.NoError(t, client.Close())
		}
		return err
	}
	require.NoError(t, open(func(*truenas.Connection) {}))
	require.NoError(t, open(func(c *truenas.Connection) {
		c.Fingerprint = strings.ToLower(c.Fingerprint[:2] + ":" + c.Fingerprint[2:])
	}))
	require.NoError(t, open(func(c *truenas.Connection) { c.Fingerprint, c.CA = "", box.CA }))
	require.EqualError(t, open(func(c *truenas.Connection) { c.Fingerprint = strings.Repeat("00", 32) }),
		"the certificate of TrueNAS has the fingerprint "+box.Connection.Fingerprint+", which is not the one of the inventory: compare it with the one on the box, and change it there if it was renewed")
	require.EqualError(t, open(func(c *truenas.Connection) { c.Fingerprint = "" }),
		"the certificate of TrueNAS at "+box.Connection.Endpoint+" is not signed by an authority that this machine trusts: give storage.fingerprint or storage.caFile")
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	_, err := truenas.Connection{Endpoint: box.Connection.Endpoint, Fingerprint: box.Connection.Fingerprint, Username: "em-infra", APIKey: "1-wrong"}.Open(t.Context())
	require.EqualError(t, err, "TrueNAS does not accept the API key of em-infra: compare the user's name, or make another key in Credentials > Users > API Keys")
	for name, text := range map[string]string{
		"nas-key-expired":      "the API key of em-infra has expired, or TrueNAS has revoked it: make another in Credentials > Users > API Keys",
		"nas-login-rate-limit": "TrueNAS refuses the login: there were more than 20 from this address within a minute: wait a minute and run it again",
		"nas-only-rest":        "TrueNAS at " + box.Connection.Endpoint + " has no JSON-RPC API: it is older than 25.04, update it",
		"nas-off":              "TrueNAS does not answer at " + box.Connection.Endpoint + " (unexpected EOF): check the address, and that the box is on",
	} {
		box.Fail(fault.Fault{Name: name})
		_, err := box.Connection.Open(t.Context())
		require.EqualError(t, err, text)
		box.Mend()
	}
}

func TestABoxThatIsNone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	c := truenas.Connection{Endpoint: server.URL, Username: "em-infra", APIKey: "1-made-up"}
	_, err := c.Open(t.Context())
	require.EqualError(t, err, "TrueNAS at "+server.URL+" answers 502 Bad Gateway instead of a WebSocket: name the box itself, or a proxy that passes WebSockets on")
	server.Close()
	_, err = c.Open(t.Context())
	require.ErrorContains(t, err, "TrueNAS does not answer at "+server.URL)
}

// TestALostAnswerIsLookedUp checks that a write whose answer was lost is not repeated, and that the work is finished.
func TestALostAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	box.Fail(fault.Fault{Name: "nas-connection-cut", Endpoint: "pool.dataset.create"})
	begun := 0
	wanted := truenas.Dataset{Name: "tank/k8s", ShareType: "NFS", Owner: "home/k3s-dev"}
	err := box.Connection.Do(t.Context(), func(ctx context.Context, c *truenas.Client) error {
		begun++
		found, err := c.FindDataset(ctx, wanted)
		if err != nil {
			return err
		}
		return c.WriteDataset(ctx, wanted, found)
	})
	require.NoError(t, err)
	require.Equal(t, 2, begun, "the second time, the dataset is there")
}

// TestASessionLogsInOnce checks that a session does more pieces of work, also at the same time, than the box accepts logins in a minute, and that it
// goes on with a new connection after one that broke.
func TestASessionLogsInOnce(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	session := truenas.NewSession(box.Connection)
	t.Cleanup(session.Close)
	pools := func() error {
		return session.Do(t.Context(), func(ctx context.Context, c *truenas.Client) error {
			_, err := c.Pools(ctx)
			return err
		})
	}
	for range 15 {
		var both errgroup.Group
		both.Go(pools)
		both.Go(pools)
		require.NoError(t, both.Wait())
	}
	box.Fail(fault.Fault{Name: "nas-connection-cut", Endpoint: "pool.query"})
	require.NoError(t, pools())
	require.NoError(t, pools())
}

// TestASessionThatIsEndedReportsWhatFailed: the end of the context, which comes between two attempts, does not tell a user what to do.
func TestASessionThatIsEndedReportsWhatFailed(t *testing.T) {
	t.Parallel()
	session := truenas.NewSession(truenastest.Serve(t).Connection)
	t.Cleanup(session.Close)
	ctx, end := context.WithCancel(t.Context())
	err := session.Do(ctx, func(context.Context, *truenas.Client) error {
		end()
		return remedy.Errorf("run it again", "%w", truenas.ErrLost)
	})
	require.EqualError(t, err, "the connection to TrueNAS broke before the answer: run it again")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, truenas.ErrLost)
}

func TestABusyBoxIsAskedAgain(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	box.Fail(fault.Fault{Name: "nas-too-many-calls", Endpoint: "pool.query"})
	var pools []truenas.Pool
	require.NoError(t, box.Connection.Do(t.Context(), func(ctx context.Context, c *truenas.Client) (err error) {
		pools, err = c.Pools(ctx)
		return err
	}))
	require.Equal(t, "tank", pools[0].Name)
}

// TestALoginIsTriedAgain: a box that has counted too many logins forgets them. A refusal for another reason is reported at once.
func TestALoginIsTriedAgain(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	pools := func(ctx context.Context, c *truenas.Client) error {
		_, err := c.Pools(ctx)
		return err
	}
	box.Fail(fault.Fault{Name: "nas-login-rate-limit"})
	session := truenas.Hurried(box.Connection, time.Millisecond)
	t.Cleanup(session.Close)
	require.NoError(t, session.Do(t.Context(), pools))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wrong := box.Connection
	wrong.APIKey = "1-made-up"
	other := truenas.Hurried(wrong, time.Millisecond)
	t.Cleanup(other.Close)
	require.ErrorContains(t, other.Do(ctx, pools), "does not accept the API key", "a refusal for another reason is not tried again")
}

func TestErrorsNameEachParameter(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	client, err := box.Connection.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	err = client.Call(t.Context(), nil, "pool.dataset.create", map[string]any{"name": "tank/a", "quota": 5, "colour": "red"})
	require.EqualError(t, err, "TrueNAS, pool.dataset.create: data.PoolDatasetCreateFilesystem.quota: Input should be greater than or equal to 1073741824\n"+
		"TrueNAS, pool.dataset.create: data.PoolDatasetCreateFilesystem.colour: Extra inputs are not permitted")
	require.Equal(t, truenas.EINVAL, truenas.Number(err))
	err = client.Call(t.Context(), nil, "pool.dataset.get_instance", "tank/z")
	require.True(t, truenas.IsGone(err))
	require.EqualError(t, err, "TrueNAS, pool.dataset.get_instance: PoolDataset tank/z does not exist")
	err = client.Call(t.Context(), nil, "core.pong")
	require.EqualError(t, err, "TrueNAS, core.pong: there is no such method: the box is older than 25.04 or newer than 26, see docs/storage.md")
	err = client.Call(t.Context(), nil, "core.ping", strings.Repeat("x", 70000))
	require.EqualError(t, err, "core.ping: the parameters take 70059 bytes, and TrueNAS accepts 65536: shorten the lists")
}

func TestJobsAreAwaited(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	client, err := box.Connection.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	var runs bool
	require.NoError(t, client.RunJob(t.Context(), time.Minute, &runs, "service.control", "START", "nfs"))
	require.True(t, runs)
	box.Fail(fault.Fault{Name: "nas-job-failed"})
	require.EqualError(t, client.RunJob(t.Context(), time.Minute, nil, "service.control", "START", "nfs"), "TrueNAS, service.control: [EFAULT] Failed to start service")
	box.Mend()
	box.Fail(fault.Fault{Name: "nas-service-does-not-start"})
	off := &truenas.Service{Name: "nfs"}
	require.EqualError(t, client.WriteService(t.Context(), truenas.Service{Name: "nfs", Enabled: true, Running: true}, off), "TrueNAS, service.control: [EFAULT] Service not running after start")
}
