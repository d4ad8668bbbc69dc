package proxmox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestLaggingEffects checks that a delayed effect happens in the end.
func TestLaggingEffects(t *testing.T) {
	t.Parallel()

	clock := newClock()
	l := newLab(t, func(c *proxmox.Config) {
		c.Now = clock.now
		withFaults(t, c, fault.Fault{Name: "lock-lingers"}, fault.Fault{Name: "status-lags"})
	})
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"))

	require.Equal(t, "clone", l.config("101")["lock"])
	require.Equal(t, "500 VM is locked (clone)",
		l.do(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("cores=2")).Status)
	clock.advance(3 * time.Second)
	require.Nil(t, l.config("101")["lock"])

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.Equal(t, "stopped", l.status("101"))
	clock.advance(3 * time.Second)
	require.Equal(t, "running", l.status("101"))
}

// TestFaultsAreNarrowed checks the limits of faults on calls and workers.
func TestFaultsAreNarrowed(t *testing.T) {
	t.Parallel()

	const config = "/nodes/{node}/qemu/{vmid}/config"

	tests := map[string]struct {
		fault fault.Fault
		occur bool
	}{
		"this VM":                {fault.Fault{Name: "forbidden", VMID: 101}, true},
		"another VM":             {fault.Fault{Name: "forbidden", VMID: 9000}, false},
		"this host":              {fault.Fault{Name: "forbidden", Node: "vmhost"}, true},
		"another host":           {fault.Fault{Name: "forbidden", Node: "vmhost2"}, false},
		"this endpoint":          {fault.Fault{Name: "forbidden", Endpoint: config}, true},
		"another endpoint":       {fault.Fault{Name: "forbidden", Endpoint: "/nodes"}, false},
		"a fault of other calls": {fault.Fault{Name: "template-missing"}, false},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, func(c *proxmox.Config) { withFaults(t, c, test.fault) })
			status := l.do(http.MethodGet, "/nodes/vmhost/qemu/101/config", nil).Status
			require.Equal(t, test.occur, strings.HasPrefix(status, "403"), status)
		})
	}
}

// TestFaultsOfAClone checks that a clone's faults can be limited to its source or its new VM.
func TestFaultsOfAClone(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		vmid         int
		answer, exit string
	}{
		"its source":  {9000, "500 unable to create VM 102: config file already exists", "clone failed"},
		"the new one": {102, "500 unable to create VM 102: config file already exists", "clone failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var set *fault.Set

			l := newLab(t, func(c *proxmox.Config) { set = withFaults(t, c) })
			l.template()
			require.NoError(t, set.Set(fault.Fault{Name: "vmid-taken", VMID: test.vmid}))
			require.NoError(t, set.Set(fault.Fault{Name: "clone-fails", VMID: test.vmid}))

			clone := func() reply {
				return l.do(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=102 full=1"))
			}
			require.Equal(t, test.answer, clone().Status)

			_, err := set.Clear("vmid-taken")
			require.NoError(t, err)

			var upid string

			require.NoError(t, json.Unmarshal(clone().Data, &upid))
			require.Contains(t, l.wait(upid).ExitStatus, test.exit)
		})
	}
}

// TestHostReboots checks that the call during the power cut gets no response, and that the host boots again.
func TestHostReboots(t *testing.T) {
	t.Parallel()

	var set *fault.Set

	m := &machines{}
	l := newLab(t, func(c *proxmox.Config) {
		c.Machines = m
		set = withFaults(t, c, fault.Fault{Name: "host-reboots", Endpoint: "/pools"})
	})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 onboot=1 start=1"))
	polltest.Until(t, func() bool { return slices.Equal([]string{"on 101"}, m.seen()) })

	// Go's client repeats a GET after a broken connection, but not a POST.
	_, err := l.try(t.Context(), l.token, http.MethodPost, "/pools", values("poolid=a1"))
	require.ErrorContains(t, err, "EOF")
	polltest.Until(t, func() bool {
		return slices.Equal([]string{"on 101", "off 101", "on 101"}, m.seen())
	})
	polltest.Until(t, func() bool {
		r, err := l.try(t.Context(), l.token, http.MethodGet, "/version", nil)
		return err == nil && r.Status == "200 OK"
	})
	require.Equal(t, 1, set.List()[0].Occurred)
}

// TestNothingIsAnsweredAfterThePowerIsCut checks that the request after the one at which the power is cut finds no host: its
// work would be lost with the power.
func TestNothingIsAnsweredAfterThePowerIsCut(t *testing.T) {
	t.Parallel()

	for range 20 {
		l := newLab(t, func(c *proxmox.Config) {
			c.Pace = scaled(t, 1)
			withFaults(t, c, fault.Fault{Name: "host-reboots", Endpoint: "/pools"})
		})
		for _, path := range []string{"/pools", "/nodes/vmhost/qemu"} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api2/json"+path, strings.NewReader("poolid=a1"))
			request.Header.Set("Authorization", "PVEAPIToken="+l.token)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

			answer := httptest.NewRecorder()
			l.server.ServeHTTP(answer, request)
			require.Equal(t, http.StatusServiceUnavailable, answer.Code, "a connection that cannot be cut: %s: %s", path, answer.Body)
		}
	}
}

// TestLostAnswer checks that the work is done although the response is lost.
func TestLostAnswer(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { withFaults(t, c, fault.Fault{Name: "answer-lost", Nth: 1}) })

	_, err := l.try(t.Context(), l.token, http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))
	require.ErrorContains(t, err, "EOF")
	polltest.Until(t, func() bool { return slices.Equal([]int{101}, l.vmids()) })
	require.True(t, l.server.Calls()[0].Fault)
}

// TestFaultsAreLogged checks that the call log marks responses of faults.
func TestFaultsAreLogged(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { withFaults(t, c, fault.Fault{Name: "forbidden", Times: 1}) })
	l.do(http.MethodGet, "/version", nil)
	l.do(http.MethodGet, "/version", nil)

	calls := l.server.Calls()
	require.True(t, calls[0].Fault)
	require.False(t, calls[1].Fault)
}

var _ http.Handler = (*proxmox.Server)(nil)

// TestHandlerWithoutHijacking checks the responses over a transport without hijacking.
func TestHandlerWithoutHijacking(t *testing.T) {
	t.Parallel()

	server, err := proxmox.NewServer(testConfig())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })

	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api2/json/version", nil))
	require.Equal(t, http.StatusUnauthorized, recorder.Code)
}
