package truenas_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/truenas"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	r := serve(t)
	response, err := r.server.Client().Get(r.server.URL + "/api/versions")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)

	r.fail(t, "nas-only-rest")
	response, err = r.server.Client().Get(r.server.URL + "/api/versions")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestMessagesThatAreNone(t *testing.T) {
	t.Parallel()
	l := serve(t).login(t)
	for message, text := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"core.pong"}`:              "-32601 Method does not exist",
		`{"id":1,"method":"core.ping"}`:                              "-32600 Missing 'jsonrpc' member",
		`{"jsonrpc":"1.0","id":1,"method":"core.ping"}`:              "-32600 'jsonrpc' member must be of type string and must be exactly '2.0'",
		`{"jsonrpc":"2.0","id":{},"method":"core.ping"}`:             "-32600 'id' member must be of type null, string or number",
		`{"jsonrpc":"2.0","id":1}`:                                   "-32600 Missing 'method' member",
		`{"jsonrpc":"2.0","id":1,"method":7}`:                        "-32600 'method' member must be of type string",
		`{"jsonrpc":"2.0","id":1,"method":"core.ping","params":{}}`:  "-32600 'params' member must be of type array",
		`{"jsonrpc":"2.0","id":1,"method":"core.ping","params":[1]}`: `-32602 [["","Too many arguments (expected 0, found 1)",22]]`,
		`[]`: "-32700 Batch messages are not supported at this time",
		`{`:  "-32700 unexpected EOF",
	} {
		answer := l.send(message)
		require.Equal(t, text, describe(t, answer["error"].(map[string]any)), message)
	}
	require.Equal(t, "pong", l.must("core.ping"))
}

func TestSizesOfMessages(t *testing.T) {
	t.Parallel()
	r := serve(t)
	long := func(bytes int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"core.ping","params":["` + strings.Repeat("x", bytes) + `"]}`
	}
	for name, test := range map[string]struct {
		link  *link
		bytes int
		code  int
		why   string
	}{
		"before the login": {r.dial(t), 9000, websocket.CloseInvalidFramePayloadData, "Anonymous connection max message length is 8 kB"},
		"after it":         {r.login(t), 70000, websocket.CloseMessageTooBig, "Max message length is 64 kB"},
	} {
		require.NoError(t, test.link.socket.WriteMessage(websocket.TextMessage, []byte(long(test.bytes))))
		_, _, err := test.link.socket.ReadMessage()
		closed, is := err.(*websocket.CloseError)
		require.True(t, is, "%s: %v", name, err)
		require.Equal(t, test.code, closed.Code, name)
		require.Equal(t, test.why, closed.Text, name)
	}
	within := r.login(t).send(long(30000))
	require.Equal(t, `-32602 [["","Too many arguments (expected 0, found 1)",22]]`, describe(t, within["error"].(map[string]any)))
}

func TestLogin(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.dial(t)
	_, failed := l.call("pool.query")
	require.Equal(t, "-32001 [ENOTAUTHENTICATED] Not authenticated", failed)
	require.Equal(t, map[string]any{"response_type": "AUTH_ERR"}, l.must("auth.login_ex", apiKey("em-infra", "1-wrong")))
	require.Equal(t, map[string]any{"response_type": "AUTH_ERR"}, l.must("auth.login_ex", apiKey("somebody", key)))
	require.Equal(t, false, l.must("auth.login_with_api_key", "1-wrong"))
	for params, text := range map[*map[string]any]string{
		{"username": "em-infra", "api_key": key}:                                                   `-32602 [["login_data.mechanism","Field required",22]]`,
		{"mechanism": "API_KEY_PLAIN", "username": "em-infra"}:                                     `-32602 [["login_data.API_KEY_PLAIN.api_key","Field required",22]]`,
		{"mechanism": "API_KEY_PLAIN", "username": "em-infra", "api_key": key, "password": "none"}: `-32602 [["login_data.API_KEY_PLAIN.password","Extra inputs are not permitted",22]]`,
	} {
		_, failed := l.call("auth.login_ex", *params)
		require.Equal(t, text, failed)
	}
	require.Equal(t, true, l.must("auth.login_with_api_key", key))
	require.Equal(t, "em-infra", l.must("auth.me").(map[string]any)["pw_name"])
	r.fail(t, "nas-key-expired")
	require.Equal(t, map[string]any{"response_type": "EXPIRED"}, r.dial(t).must("auth.login_ex", apiKey("em-infra", key)))
}

// TestLoginsAreLimited checks the 21st login within a minute, and the first login of the next minute. In a lab, a minute is as short as its time scale
// says.
func TestLoginsAreLimited(t *testing.T) {
	t.Parallel()
	for _, faster := range []time.Duration{1, 10} {
		now := time.Unix(1_700_000_000, 0)
		r := serve(t, func(c *truenas.Config) {
			c.Scaled, c.Now = func(d time.Duration) time.Duration { return d / faster }, func() time.Time { return now }
		})
		l := r.dial(t)
		for range 20 {
			l.must("auth.login_ex", apiKey("em-infra", "1-wrong"))
		}
		now = now.Add(time.Minute/faster - time.Nanosecond)
		_, failed := l.call("auth.login_ex", apiKey("em-infra", key))
		require.Equal(t, "-32001 [EBUSY] Rate Limit Exceeded", failed)
		require.Equal(t, []time.Duration{time.Second / faster}, *r.slept)
		now = now.Add(time.Nanosecond)
		require.Equal(t, "SUCCESS", l.must("auth.login_ex", apiKey("em-infra", key)).(map[string]any)["response_type"])
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	l := serve(t).login(t)
	for _, name := range []string{"tank/a", "tank/b", "tank/a/c"} {
		l.must("pool.dataset.create", map[string]any{"name": name})
	}
	ids := func(filters []any, options map[string]any) any {
		options["select"] = []any{"id"}
		return l.must("pool.dataset.query", filters, options)
	}
	id := func(name string) map[string]any { return map[string]any{"id": name} }
	require.Equal(t, []any{id("tank/a"), id("tank/a/c")}, ids([]any{[]any{"id", "^", "tank/a"}}, map[string]any{}))
	require.Equal(t, []any{id("tank/b")}, ids([]any{[]any{"id", "in", []any{"tank/b", "tank/z"}}}, map[string]any{}))
	require.Equal(t, []any{id("tank/b"), id("tank/a/c")}, ids([]any{}, map[string]any{"order_by": []any{"-id"}, "limit": 2}))
	require.Equal(t, []any{id("tank"), id("tank/b")}, ids([]any{[]any{"OR", []any{[]any{"name", "=", "tank"}, []any{"name", "$", "b"}}}}, map[string]any{}))
	require.EqualValues(t, 4, l.must("pool.dataset.query", []any{}, map[string]any{"count": true}))
	_, failed := l.call("pool.dataset.query", []any{[]any{"id", "=", "tank/z"}}, map[string]any{"get": true})
	require.Equal(t, "-32001 MatchNotFound()", failed)
	_, failed = l.call("pool.dataset.query", []any{[]any{"id", "is", "tank/z"}})
	require.Equal(t, "-32001 Invalid operation: is", failed)
	_, failed = l.call("pool.dataset.query", []any{}, map[string]any{"sort": "id"})
	require.Equal(t, `-32602 [["options.sort","Extra inputs are not permitted",22]]`, failed)
}

func TestJobs(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	l.must("core.subscribe", "core.get_jobs")
	watched := func(event string) {
		message := l.receive()
		require.Equal(t, "collection_update", message["method"])
		require.Equal(t, event, message["params"].(map[string]any)["msg"])
	}
	job := func(method string, params ...any) map[string]any {
		l.next++
		require.NoError(t, l.socket.WriteJSON(map[string]any{"jsonrpc": "2.0", "id": l.next, "method": method, "params": params}))
		watched("added")
		watched("changed")
		number := l.receive()["result"]
		return l.must("core.get_jobs", []any{[]any{"id", "=", number}}, map[string]any{"get": true}).(map[string]any)
	}
	done := job("service.control", "START", "nfs")
	require.Equal(t, []any{"SUCCESS", true, nil}, []any{done["state"], done["result"], done["error"]})
	r.fail(t, "nas-job-failed")
	done = job("service.control", "START", "nfs")
	require.Equal(t, []any{"FAILED", nil, "[EFAULT] Failed to start service"}, []any{done["state"], done["result"], done["error"]})
	r.fail(t, "nas-service-does-not-start")
	done = job("service.control", "START", "nfs")
	require.Equal(t, []any{"SUCCESS", false, nil}, []any{done["state"], done["result"], done["error"]}, "a service that does not start is a result")
	done = job("service.control", "START", "nfs", map[string]any{"silent": false})
	require.Equal(t, []any{"FAILED", nil, "[EFAULT] Service not running after start"}, []any{done["state"], done["result"], done["error"]})
}

func TestACutConnectionLeavesTheWorkDone(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	r.fail(t, "nas-connection-cut")
	require.NoError(t, l.socket.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":9,"method":"pool.dataset.create","params":[{"name":"tank/k8s"}]}`)))
	_, _, err := l.socket.ReadMessage()
	require.Error(t, err)
	require.Equal(t, "tank/k8s", r.login(t).must("pool.dataset.get_instance", "tank/k8s").(map[string]any)["id"])
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	r.fail(t, "nas-too-many-calls")
	_, failed := l.call("core.ping")
	require.Equal(t, "-32000 Maximum number of concurrent calls (20) has exceeded", failed)
	require.Equal(t, "pong", l.must("core.ping"))
}
