package proxmox_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// TestFaults asks for each failure of the catalogue and holds what a client then sees.
func TestFaults(t *testing.T) {
	t.Parallel()

	const (
		clone = "/nodes/vmhost/qemu/9000/clone"
		start = "/nodes/vmhost/qemu/101/status/start"
	)

	// Each test does something, and expects a status line of the call, or what its task ends with.
	tests := map[string]struct{ verb, path, params, status, exit string }{
		"config-lock-timeout": {
			http.MethodPut, "/nodes/vmhost/qemu/101/config", "cores=2",
			"500 can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout", "",
		},
		"storage-lock-timeout": {
			http.MethodPost, clone, "newid=102 full=1", "",
			"clone failed: can't lock file '/var/lock/pve-manager/pve-storage-tank' - got timeout",
		},
		"storage-full": {
			http.MethodPut, "/nodes/vmhost/qemu/101/config", "scsi1=tank:1",
			"500 zfs error: cannot create 'tank/vm-101-disk-0': out of space", "",
		},
		"clone-fails": {
			http.MethodPost, clone, "newid=102 full=1", "",
			"clone failed: block job (mirror) error: drive-scsi0: 'mirror' has been cancelled",
		},
		"start-fails": {http.MethodPost, start, "", "", "start failed: QEMU exited with code 1"},
		"gpu-in-use": {
			http.MethodPost, start, "", "", "PCI device '0000:01:00.0' already in use by VMID '999'",
		},
		"template-missing": {
			http.MethodPost, clone, "newid=102",
			"500 Configuration file 'nodes/vmhost/qemu-server/9000.conf' does not exist", "",
		},
		"no-worker":    {http.MethodPost, start, "", "500 got no worker upid - start worker failed", ""},
		"unauthorized": {http.MethodGet, "/nodes/vmhost/qemu/101/config", "", "401 Authentication failed!", ""},
		"forbidden":    {http.MethodGet, "/nodes/vmhost/qemu/101/config", "", "403 Permission check failed", ""},
		"unreachable":  {http.MethodGet, "/nodes/vmhost/qemu/101/config", "", "596 Connection timed out", ""},
		"download-fails": {
			http.MethodPost, "/nodes/vmhost/storage/local/download-url", "content=iso filename=a.iso url=http://127.0.0.1:1/",
			"", "download failed: command '/usr/bin/wget' failed: exit code 4",
		},
		"slow-reload":  {http.MethodPut, "/nodes/vmhost/network", "", "", "OK"},
		"lock-lingers": {http.MethodPost, clone, "newid=102 full=1", "", "OK"},
		"status-lags":  {http.MethodPost, start, "", "", "OK"},
	}

	require.Len(t, tests, len(proxmox.FaultNames()), "every fault is tested")

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var set *proxmox.FaultSet

			l := newLab(t, func(c *proxmox.Config) { set = withFaults(t, c) })
			l.template()
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))

			before := l.vmids()

			require.NoError(t, set.Set(proxmox.Fault{Name: name, Times: 1}))

			if test.status != "" {
				require.Equal(t, test.status, l.do(test.verb, test.path, values(test.params)).Status)
			} else {
				require.Equal(t, test.exit, l.task(test.verb, test.path, values(test.params)))
			}

			if test.exit != "OK" {
				require.Equal(t, before, l.vmids())
			}

			require.Equal(t, 1, set.Clear(name))
		})
	}
}

// TestLaggingEffects holds that what lags is over in the end.
func TestLaggingEffects(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) {
		c.Pace = scaled(t, 0.1)
		withFaults(t, c, proxmox.Fault{Name: "lock-lingers"}, proxmox.Fault{Name: "status-lags"})
	})
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"))

	require.Equal(t, "clone", l.config("101")["lock"])
	require.Equal(t, "500 VM is locked (clone)",
		l.do(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("cores=2")).Status)
	require.Eventually(t, func() bool { return l.config("101")["lock"] == nil }, 5*time.Second, 5*time.Millisecond)

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.Equal(t, "stopped", l.status("101"))
	require.Eventually(t, func() bool { return l.status("101") == "running" }, 5*time.Second, 5*time.Millisecond)
}

// TestFaultsAreNarrowed holds faults to a VM, an endpoint, an occasion and a share.
func TestFaultsAreNarrowed(t *testing.T) {
	t.Parallel()

	read := func(l *lab, vmid string, times int) []string {
		statuses := make([]string, times)
		for i := range statuses {
			statuses[i] = l.do(http.MethodGet, "/nodes/vmhost/qemu/"+vmid+"/status/current", nil).Status[:3]
		}

		return statuses
	}

	tests := map[string]struct {
		fault    proxmox.Fault
		expected []string
	}{
		"the second":            {proxmox.Fault{Nth: 2, Times: 1}, []string{"200", "403", "200", "200"}},
		"from the second":       {proxmox.Fault{Nth: 2}, []string{"200", "403", "403", "403"}},
		"twice":                 {proxmox.Fault{Times: 2}, []string{"403", "403", "200", "200"}},
		"another VM":            {proxmox.Fault{VMID: 999}, []string{"200", "200", "200", "200"}},
		"this VM":               {proxmox.Fault{VMID: 101}, []string{"403", "403", "403", "403"}},
		"another node":          {proxmox.Fault{Node: "vmhost2"}, []string{"200", "200", "200", "200"}},
		"another endpoint":      {proxmox.Fault{Endpoint: "/nodes"}, []string{"200", "200", "200", "200"}},
		"half, by seed":         {proxmox.Fault{Probability: 0.5}, []string{"403", "200", "403", "403"}},
		"this endpoint of this": {proxmox.Fault{Endpoint: "/nodes/{node}/qemu/{vmid}/status/current", VMID: 101}, []string{"403", "403", "403", "403"}},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var set *proxmox.FaultSet

			l := newLab(t, func(c *proxmox.Config) { set = withFaults(t, c) })
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))

			test.fault.Name = "forbidden"
			require.NoError(t, set.Set(test.fault))
			require.Equal(t, []proxmox.Fault{test.fault}, set.List())
			require.Equal(t, test.expected, read(l, "101", 4))
		})
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	t.Parallel()

	set := proxmox.NewFaultSet(scaled(t, 0), [32]byte{})
	require.EqualError(t, set.Set(proxmox.Fault{Name: "fire"}), `fault: "fire" is none: choose one of `+
		"config-lock-timeout, storage-lock-timeout, storage-full, clone-fails, lock-lingers, status-lags, start-fails, "+
		"gpu-in-use, template-missing, no-worker, download-fails, slow-reload, unauthorized, forbidden, unreachable")
	require.EqualError(t, set.Set(proxmox.Fault{Name: "forbidden", Probability: 2}), "fault: probability 2 lies outside of 0 to 1")
	require.Zero(t, set.Clear(""))
}

// TestFaultsAreLogged holds that the call log tells an answer that was asked for from one that was earned.
func TestFaultsAreLogged(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { withFaults(t, c, proxmox.Fault{Name: "forbidden", Times: 1}) })
	l.do(http.MethodGet, "/version", nil)
	l.do(http.MethodGet, "/version", nil)

	calls := l.server.Calls()
	require.True(t, calls[0].Fault)
	require.False(t, calls[1].Fault)
}

var _ http.Handler = (*proxmox.Server)(nil)

// TestHandlerWithoutHijacking holds that answers survive a transport that connections cannot be taken from.
func TestHandlerWithoutHijacking(t *testing.T) {
	t.Parallel()

	server, err := proxmox.NewServer(testConfig())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })

	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api2/json/version", nil))
	require.Equal(t, http.StatusUnauthorized, recorder.Code)
}
