package proxmox_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

func (m *machines) AskAgent(vmid int) (proxmox.Guest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.agent == nil || !m.on[vmid].Agent {
		return proxmox.Guest{}, false
	}

	return *m.agent, true
}

func (m *machines) ShutdownByAgent(ctx context.Context, vmid int) error {
	m.mu.Lock()
	m.note("shutdown by agent %d", vmid)
	deaf := m.deaf
	m.mu.Unlock()

	if deaf {
		<-ctx.Done()
		return ctx.Err()
	}

	return nil
}

// talosGuest is the answer of the agent in Talos' extension.
var talosGuest = proxmox.Guest{
	Hostname: "worker-1", KernelRelease: "6.18.9-talos", KernelVersion: "#1 SMP", Machine: "x86_64",
	Interfaces: []proxmox.GuestInterface{{
		Name: "eth0", MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, 1},
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.20.21/24"), netip.MustParsePrefix("fd00::21/64")},
	}},
}

// TestGuestAgent checks when an agent answers. It counts as configured if the key exists, enabled or not.
func TestGuestAgent(t *testing.T) {
	t.Parallel()

	guests := &machines{agent: &talosGuest}
	l := newLab(t, withMachines(guests))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))

	ask := func(command string) reply {
		return l.do(http.MethodGet, "/nodes/vmhost/qemu/101/agent/"+command, nil)
	}

	require.Equal(t, "500 No QEMU guest agent configured", ask("get-osinfo").Status)
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("agent=0"), nil)
	require.Equal(t, "500 VM 101 is not running", ask("get-osinfo").Status)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.Equal(t, "500 QEMU guest agent is not running", ask("get-osinfo").Status)

	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("agent=1"), nil)
	require.Equal(t, "500 QEMU guest agent is not running", ask("get-osinfo").Status, "the port comes with the next start")
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)

	for command, answer := range map[string]string{
		"get-host-name": `{"host-name": "worker-1"}`,
		"get-osinfo":    `{"kernel-release": "6.18.9-talos", "kernel-version": "#1 SMP", "machine": "x86_64"}`,
		"network-get-interfaces": `[{"name": "eth0", "hardware-address": "bc:24:11:00:00:01", "ip-addresses": [
			{"ip-address": "192.168.20.21", "ip-address-type": "ipv4", "prefix": 24},
			{"ip-address": "fd00::21", "ip-address-type": "ipv6", "prefix": 64}]}]`,
	} {
		var got struct{ Result json.RawMessage }

		l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/agent/"+command, nil, &got)
		require.JSONEq(t, answer, string(got.Result), command)
	}

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/agent/ping", nil, nil)
	guests.silence()
	require.Equal(t, "500 QEMU guest agent is not running", ask("get-osinfo").Status)
}

func (m *machines) silence() {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.agent = nil
}

// TestWhoIsAskedToShutDown checks that a host uses only the agent if one answers, even without effect, and otherwise the
// power button.
func TestWhoIsAskedToShutDown(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		config string
		agent  *proxmox.Guest
		deaf   bool
		asked  string
		exit   string
	}{
		"an agent that answers":                      {config: "agent=1", agent: &talosGuest, asked: "shutdown by agent 101", exit: "OK"},
		"an agent that answers and does nothing":     {config: "agent=1", agent: &talosGuest, deaf: true, asked: "shutdown by agent 101", exit: "VM quit/powerdown failed - got timeout"},
		"an agent that does not answer":              {config: "agent=1", asked: "button 101", exit: "OK"},
		"an agent that is not to be asked":           {config: "agent=0", agent: &talosGuest, asked: "button 101", exit: "OK"},
		"a machine of which nothing says it has one": {agent: &talosGuest, asked: "button 101", exit: "OK"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			guests := &machines{agent: test.agent, deaf: test.deaf}
			l := newLab(t, withMachines(guests))
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1 "+test.config))

			var upid string

			l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=1"), &upid)
			require.Equal(t, test.exit, l.wait(upid).ExitStatus)
			require.Contains(t, guests.seen(), test.asked)
		})
	}
}

// TestGuestAgentPrivileges checks the privileges for agent calls, in each release.
func TestGuestAgentPrivileges(t *testing.T) {
	t.Parallel()

	for release, want := range map[schema.Release]string{
		schema.Release84: "VM.Monitor", schema.Release91: "VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted",
	} {
		for _, command := range []string{"get-host-name", "get-osinfo", "network-get-interfaces"} {
			l := newLab(t, func(c *proxmox.Config) {
				c.Release = release
				c.Tokens[0].Privileges = []string{"VM.Audit", "VM.Allocate", "VM.Config.Options"}
			})
			require.Equal(t, "403 Permission check failed (/vms/101, "+want+")",
				l.do(http.MethodGet, "/nodes/vmhost/qemu/101/agent/"+command, nil).Status)
		}
	}
}
