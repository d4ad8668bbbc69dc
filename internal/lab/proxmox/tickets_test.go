package proxmox_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// login is the response to a login.
type login struct {
	Username, Ticket string
	CSRF             string                    `json:"CSRFPreventionToken"`
	Rights           map[string]map[string]int `json:"cap"`
}

// withRoot returns a lab whose root has a password, with a clock that the test sets.
func withRoot(t *testing.T) (l *lab, password string, ahead *atomic.Int64) {
	t.Helper()

	password, ahead = rand.Text(), &atomic.Int64{}
	l = newLab(t, func(c *proxmox.Config) {
		c.Accounts = []proxmox.Account{{ID: "root@pam", Password: password}}
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})

	return l, password, ahead
}

func (l *lab) login(user, password string) login {
	l.t.Helper()

	var opened login

	l.ok(http.MethodPost, "/access/ticket", url.Values{"username": {user}, "password": {password}}, &opened)

	return opened
}

// as sends a request in a session.
func (l *lab) as(opened login, csrf, verb, path string, params url.Values) reply {
	l.t.Helper()

	var body io.Reader
	if len(params) > 0 {
		body = strings.NewReader(params.Encode())
	}

	request, err := http.NewRequestWithContext(l.t.Context(), verb, l.base+"/api2/json"+path, body)
	require.NoError(l.t, err)
	request.Header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(opened.Ticket))
	request.Header.Set("CSRFPreventionToken", csrf)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

	response, err := l.http.Do(request)
	require.NoError(l.t, err)

	defer response.Body.Close()

	r := reply{Status: response.Status}
	raw, err := io.ReadAll(response.Body)
	require.NoError(l.t, err)

	if len(raw) > 0 {
		require.NoError(l.t, json.Unmarshal(raw, &r))
	}

	return r
}

// TestSessions opens a session with a password, renews it with its ticket, and works in it.
func TestSessions(t *testing.T) {
	t.Parallel()

	l, password, ahead := withRoot(t)
	opened := l.login("root@pam", password)
	require.Equal(t, "root@pam", opened.Username)
	require.Equal(t, 1, opened.Rights["vms"]["VM.Allocate"])
	require.Equal(t, "200 OK", l.as(opened, "", http.MethodGet, "/nodes", nil).Status)
	require.Equal(t, "200 OK", l.as(opened, opened.CSRF, http.MethodPost, "/pools", values("poolid=a")).Status)
	require.Equal(t, "200 OK", l.as(l.login("root@pam", opened.Ticket), "", http.MethodGet, "/nodes", nil).Status)

	require.Equal(t, "401 Permission denied - invalid csrf token", l.as(opened, "", http.MethodPost, "/pools", values("poolid=b")).Status)
	require.Equal(t, "401 Permission denied - invalid csrf token",
		l.as(opened, opened.CSRF+"x", http.MethodPost, "/pools", values("poolid=b")).Status)

	forged := opened
	forged.Ticket = strings.Replace(opened.Ticket, "root@pam", "toor@pam", 1)
	require.Equal(t, "401 Authentication failed!", l.as(forged, "", http.MethodGet, "/nodes", nil).Status)

	ahead.Store(int64(3 * time.Hour))
	require.Equal(t, "401 Authentication failed!", l.as(opened, "", http.MethodGet, "/nodes", nil).Status, "two hours are over")
}

// TestLoginsThatFail checks that a refused login never contains the reason.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()

	l, password, _ := withRoot(t)

	for name, params := range map[string]url.Values{
		"wrong password":  {"username": {"root@pam"}, "password": {password + "x"}},
		"no such user":    {"username": {"none@pam"}, "password": {password}},
		"no password set": {"username": {"terraform@pve"}, "password": {"madeup"}},
		"no such right":   {"username": {"terraform@pve"}, "password": {password}, "path": {"/"}, "privs": {"Sys.Console"}},
	} {
		require.Equal(t, "401 authentication failure", l.do(http.MethodPost, "/access/ticket", params).Status, name)
	}
}

// TestPasswordsAreChanged: root changes every password; other users change their own and confirm with it.
func TestPasswordsAreChanged(t *testing.T) {
	t.Parallel()

	l, password, _ := withRoot(t)
	root := l.login("root@pam", password)
	first, second := rand.Text(), rand.Text()
	made := url.Values{"userid": {"ci@pve"}, "password": {first}}
	require.Equal(t, "200 OK", l.as(root, root.CSRF, http.MethodPost, "/access/users", made).Status)

	ci := l.login("ci@pve", first)
	change := url.Values{"userid": {"ci@pve"}, "password": {second}}
	r := l.as(ci, ci.CSRF, http.MethodPut, "/access/password", change)
	require.Equal(t, map[string]string{"confirmation-password": "password is required to modify user"}, r.Errors)

	change.Set("confirmation-password", second)
	require.Equal(t, "401 authentication failure", l.as(ci, ci.CSRF, http.MethodPut, "/access/password", change).Status)
	change.Set("confirmation-password", first)
	require.Equal(t, "200 OK", l.as(ci, ci.CSRF, http.MethodPut, "/access/password", change).Status)
	l.login("ci@pve", second)

	require.Equal(t, "200 OK", l.as(root, root.CSRF, http.MethodPut, "/access/password",
		url.Values{"userid": {"ci@pve"}, "password": {first}}).Status)
	l.login("ci@pve", first)
	require.Contains(t, l.do(http.MethodPut, "/access/password", change).Status, "not available with API token, need proper ticket.")
}
