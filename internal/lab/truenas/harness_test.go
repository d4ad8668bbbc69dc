package truenas_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas"
)

const key = "1-made-up-for-this-test"

// rig is a box that a test talks to.
type rig struct {
	box    *truenas.Box
	server *httptest.Server
	faults *fault.Set
	slept  *[]time.Duration
}

// serve starts a box with a pool of 100 GiB until the test ends.
func serve(t *testing.T, change ...func(*truenas.Config)) rig {
	t.Helper()
	slept := []time.Duration{}
	config := truenas.Config{
		Pools: []truenas.Pool{{Name: "tank", Size: 100 << 30}}, Addresses: []string{"192.168.20.5"}, User: "em-infra", Key: key, Roles: []string{"FULL_ADMIN"},
		Faults: fault.NewSet([32]byte{}, truenas.Faults), StateFile: filepath.Join(t.TempDir(), "nas.json"),
		Sleep: func(d time.Duration) { slept = append(slept, d) },
	}
	for _, each := range change {
		each(&config)
	}
	box, err := truenas.New(config)
	require.NoError(t, err)
	server := httptest.NewTLSServer(box)
	t.Cleanup(func() {
		require.NoError(t, box.Close())
		server.Close()
	})
	return rig{box, server, config.Faults, &slept}
}

// link is a connection without a client library, so that every message can be written as it is.
type link struct {
	t      *testing.T
	socket *websocket.Conn
	next   int
}

// dial opens a connection.
func (r rig) dial(t *testing.T) *link {
	t.Helper()
	dialer := websocket.Dialer{TLSClientConfig: r.server.Client().Transport.(*http.Transport).TLSClientConfig}
	socket, response, err := dialer.Dial("wss"+strings.TrimPrefix(r.server.URL, "https")+"/api/current", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	t.Cleanup(func() { _ = socket.Close() }) // it may be closed
	return &link{t: t, socket: socket}
}

// login opens a connection as the administrator.
func (r rig) login(t *testing.T) *link {
	t.Helper()
	l := r.dial(t)
	require.Equal(t, "SUCCESS", l.must("auth.login_ex", apiKey("em-infra", key)).(map[string]any)["response_type"])
	return l
}

func apiKey(user, key string) map[string]any {
	return map[string]any{"mechanism": "API_KEY_PLAIN", "username": user, "api_key": key}
}

// send writes a message and returns the answer.
func (l *link) send(message string) map[string]any {
	l.t.Helper()
	require.NoError(l.t, l.socket.WriteMessage(websocket.TextMessage, []byte(message)))
	return l.receive()
}

func (l *link) receive() map[string]any {
	l.t.Helper()
	var answer map[string]any
	require.NoError(l.t, l.socket.ReadJSON(&answer))
	return answer
}

// call returns the result, or the error as code, reason, and the entries of extra.
func (l *link) call(method string, params ...any) (any, string) {
	l.t.Helper()
	l.next++
	if params == nil {
		params = []any{}
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.next, "method": method, "params": params})
	require.NoError(l.t, err)
	answer := l.send(string(message))
	require.EqualValues(l.t, l.next, answer["id"])
	failed, is := answer["error"].(map[string]any)
	if !is {
		return answer["result"], ""
	}
	return nil, describe(l.t, failed)
}

func (l *link) must(method string, params ...any) any {
	l.t.Helper()
	result, failed := l.call(method, params...)
	require.Empty(l.t, failed)
	return result
}

// describe writes an error as one line: its code, its name, and what it is about.
func describe(t *testing.T, failed map[string]any) string {
	t.Helper()
	data, is := failed["data"].(map[string]any)
	code, err := json.Marshal(failed["code"])
	require.NoError(t, err)
	if !is {
		return string(code) + " " + failed["message"].(string)
	}
	if data["extra"] == nil {
		return string(code) + " " + data["reason"].(string)
	}
	extra, err := json.Marshal(data["extra"])
	require.NoError(t, err)
	return string(code) + " " + string(extra)
}

// fail sets a fault.
func (r rig) fail(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, r.faults.Set(fault.Fault{Name: name}))
}
