package pve_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// TestAContainerIsLookedAt checks that a container of a stack is recognized by its description and its name, and that a virtual machine does not
// count as a container.
func TestAContainerIsLookedAt(t *testing.T) {
	t.Parallel()
	e := newHost(t, withImages)
	image := pve.Image{Host: node, Volume: "local:vztmpl/debian.tar.zst", URL: debianURL, Algorithm: "sha512", Checksum: "ab12"}
	require.NoError(t, e.connection.EnsureImage(t.Context(), image))
	e.must(http.MethodPost, "/lxc", url.Values{
		"vmid": {"211"}, "ostemplate": {image.Volume}, "rootfs": {"guests:4"}, "hostname": {"pihole"}, "description": {ownership.SystemMark("site-systems")},
	})
	host := e.host(patience)
	whole := &pve.Machine{Node: node, Name: "pihole", Stack: "site-systems"}
	for vmid, want := range map[int]*pve.Machine{211: whole, 212: nil, templateID: nil} {
		found, err := host.LookContainer(t.Context(), vmid)
		require.NoError(t, err)
		require.Equal(t, want, found)
		found, err = host.SettleContainer(t.Context(), vmid)
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	e.must(http.MethodPost, "/lxc/211/status/start", nil)
	running, err := host.LookContainer(t.Context(), 211)
	require.NoError(t, err)
	require.True(t, running.Running)
}

// creatingHost returns a host that answers for container 211 on the node one, which is locked by its creation. The task is listed the given number of
// times; if writes is set, its log grows each time. After that, the lock is gone if endsWell is set.
func creatingHost(t *testing.T, listed int32, writes, endsWell bool) pve.Host {
	t.Helper()
	var asked atomic.Int32
	mux := http.NewServeMux()
	answer := func(path string, body func() string) {
		mux.HandleFunc("GET /api2/json"+path, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":` + body() + `}`)) // to a client that has gone
		})
	}
	answer("/cluster/resources", func() string { return `[{"vmid":211,"type":"lxc","node":"one","status":"stopped"}]` })
	answer("/nodes/one/lxc/211/config", func() string {
		if endsWell && asked.Load() >= listed {
			return `{"hostname":"pihole","description":"Made by em-infra for stack site-systems.\n"}`
		}
		return `{"lock":"create"}`
	})
	answer("/nodes/one/tasks", func() string {
		if asked.Add(1) > listed {
			return `[]`
		}
		return `[{"upid":"UPID:one:1:2:3:vzcreate:211:a@pve!b:","type":"vzcreate","id":"211","starttime":1}]`
	})
	answer("/nodes/one/tasks/{upid}/log", func() string {
		if !writes {
			return `[{"n":1,"t":"extracting archive"}]`
		}
		return `[{"n":1,"t":"extracting archive"}` + strings.Repeat(`,{"n":2,"t":"more"}`, int(asked.Load())) + `]`
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	host, err := pve.NewHost(pve.Connection{Endpoint: server.URL, Token: "a@pve!b=c", Insecure: true})
	require.NoError(t, err)
	return pve.Strict(pve.Impatient(host, 200*time.Millisecond), 300*time.Millisecond)
}

// TestACreationOfAContainerIsWaitedFor checks that the wait lasts to the end of the creation. A creation that hangs, and one that ended without its
// last step, are refused with what to do.
func TestACreationOfAContainerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		listed           int32
		writes, endsWell bool
		err              string
	}{
		{name: "it ends", listed: 3, writes: true, endsWell: true},
		{name: "it hangs", listed: 1 << 30, err: `^CT 211 on one waits for the task UPID:one:1:2:3:vzcreate:211:a@pve!b:, which has written nothing for \d+ s ` +
			`\(last: "extracting archive"\): see in Proxmox VE why it hangs, and stop it there or wait for it; then run up again$`},
		{name: "its host restarted", listed: 1, writes: true, err: "^CT 211 on one is half made: it is locked \\(create\\), and no task that the token sees works on it: " +
			"if a run of this stack began it, run `pct unlock 211` and `pct destroy 211 --purge` on one, then run up again; else give the system another vmid in systems.yaml$"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			host := creatingHost(t, test.listed, test.writes, test.endsWell)
			begun, err := host.LookContainer(t.Context(), 211)
			require.NoError(t, err)
			require.Equal(t, &pve.Machine{Node: "one", Lock: "create"}, begun, "it is not waited for")
			made, err := host.SettleContainer(t.Context(), 211)
			if test.err != "" {
				require.Error(t, err)
				require.Regexp(t, test.err, err.Error())
				return
			}
			require.NoError(t, err)
			require.Equal(t, &pve.Machine{Node: "one", Name: "pihole", Stack: "site-systems"}, made)
		})
	}
}

// TestAContainerThatCannotBeLookedAt: the reason decides what to do.
func TestAContainerThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		http.StatusForbidden: "the token may not look at CT 211 on one: give it the privilege VM.Audit, then run up again",
		596:                  "CT 211 on one cannot be looked at (596 status code 596): see that the host answers, then run up again",
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api2/json/cluster/resources", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"vmid":211,"type":"lxc","node":"one"}]}`)) // to a client that has gone
		})
		mux.HandleFunc("GET /api2/json/nodes/one/lxc/211/config", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		server := httptest.NewTLSServer(mux)
		t.Cleanup(server.Close)
		host, err := pve.NewHost(pve.Connection{Endpoint: server.URL, Token: "a@pve!b=c", Insecure: true})
		require.NoError(t, err)
		_, err = host.LookContainer(t.Context(), 211)
		require.EqualError(t, err, want)
	}
}
