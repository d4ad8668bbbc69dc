package status_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func TestPrintWhatGuestAgentsSay(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Machines[0].GuestAgent = &status.GuestAgent{Agent: pve.Agent{HostName: "k3s-dev-control-1", Kernel: "6.18.9-talos", Interfaces: []pve.AgentInterface{
		{Name: "lo", Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
		{Name: "eth0", Addresses: []netip.Addr{
			netip.MustParseAddr("192.168.20.11"), netip.MustParseAddr("192.168.20.10"), netip.MustParseAddr("fe80::1"),
		}},
		{Name: "cni0", Addresses: []netip.Addr{netip.MustParseAddr("10.244.0.1")}},
	}}}
	r.Machines[1].GuestAgent = &status.GuestAgent{Silence: "QEMU guest agent is not running"}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), `
guest agent   k3s-dev-control-1: 6.18.9-talos, 192.168.20.11, 192.168.20.10
guest agent   k3s-dev-gpu-1 does not answer (QEMU guest agent is not running): `+"`talosctl -n 192.168.20.31 service ext-qemu-guest-agent` says why: "+
		"one that waits for its device gets it by `qm reboot 103` on vmhost, one that was stopped is started with `start` behind it"+`
`)
	require.Empty(t, r.Lacks(), "a cluster is none the worse for an agent that is silent")

	r.Machines[1].Image.Schematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "guest agent   k3s-dev-gpu-1 does not answer (QEMU guest agent is not running): it comes with the image of the inventory, see below\n")

	document, err := json.Marshal(r.Machines[0].GuestAgent)
	require.NoError(t, err)
	require.JSONEq(t, `{"hostName": "k3s-dev-control-1", "kernel": "6.18.9-talos", "interfaces": [
		{"name": "lo", "addresses": ["127.0.0.1"]},
		{"name": "eth0", "addresses": ["192.168.20.11", "192.168.20.10", "fe80::1"]},
		{"name": "cni0", "addresses": ["10.244.0.1"]}]}`, string(document))
}

// agentSources returns sources with a host that has one running machine, whose agent answers through the handler.
func agentSources(t *testing.T, extension, setting string, agent http.HandlerFunc) status.Sources {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		inventory.ClusterFile: `{apiVersion: em-infra/v1alpha1, kind: Cluster, name: lab,
talos: {version: v1.12.4, contract: v1.12, schematic: {extensions: [` + extension + `]}},
kubernetes: {endpoint: {vip: 192.168.20.10}}, network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1},
proxmox: {host: vmhost, isoStorage: local, diskStorage: tank, template: {vmid: 9000}}}`,
		inventory.NodesFile: `{apiVersion: em-infra/v1alpha1, kind: Nodes, nodes: [{name: lab-cp-1, role: control-plane, vmid: 101, address: 192.168.20.11}]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	inv, err := inventory.Load(dir)
	require.NoError(t, err)

	mux := http.NewServeMux()
	data := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":` + text + `}`)) } // to a client that has gone
	}
	mux.HandleFunc("/api2/json/cluster/resources", data(`[{"vmid":101,"type":"qemu","node":"vmhost","status":"running","name":"lab-cp-1"},
		{"vmid":102,"type":"qemu","node":"vmhost","status":"stopped"},{"vmid":103,"type":"qemu","node":"vmhost","status":"running"}]`))
	mux.HandleFunc("/api2/json/nodes/vmhost/qemu/101/config", data(`{"agent":"`+setting+`"}`))
	mux.HandleFunc("/api2/json/nodes/vmhost/qemu/101/agent/", agent)
	mux.HandleFunc("/", data(`[]`))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "ops@pve!k8s=" + rand.Text(), Insecure: true})
	require.NoError(t, err)
	return status.Sources{Inventory: inv, Host: host}
}

func TestWhatAGuestAgentSays(t *testing.T) {
	t.Parallel()
	answers := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{
			"get-osinfo":             `{"data":{"result":{"kernel-release":"6.18.9-talos","machine":"x86_64"}}}`,
			"get-host-name":          `{"data":{"result":{"host-name":"lab-cp-1"}}}`,
			"network-get-interfaces": `{"data":{"result":[{"name":"eth0","hardware-address":"bc:24:11:00:00:01","ip-addresses":[{"ip-address":"192.168.20.11","ip-address-type":"ipv4","prefix":24}]}]}}`,
		}[filepath.Base(r.URL.Path)])) // to a client that has gone
	}
	refuses := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack() // Proxmox VE reports its errors in the status line
			if err == nil {
				fmt.Fprintf(connection, "HTTP/1.1 %d %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code, text)
				_ = connection.Close() // all was written
			}
		}
	}
	const agent, on = "siderolabs/qemu-guest-agent", "enabled=1,fstrim_cloned_disks=0,type=virtio"
	for name, test := range map[string]struct {
		extension, setting string
		handler            http.HandlerFunc
		want               *status.GuestAgent
	}{
		"answers": {agent, on, answers, &status.GuestAgent{Agent: pve.Agent{
			HostName: "lab-cp-1", Kernel: "6.18.9-talos",
			Interfaces: []pve.AgentInterface{{Name: "eth0", MAC: "bc:24:11:00:00:01", Addresses: []netip.Addr{netip.MustParseAddr("192.168.20.11")}}},
		}}},
		"is not asked without the extension": {"siderolabs/iscsi-tools", on, answers, nil},
		"does not run":                       {agent, on, refuses(500, "QEMU guest agent is not running"), &status.GuestAgent{Silence: "QEMU guest agent is not running"}},
		"is switched off": {agent, "enabled=0,type=virtio", refuses(500, "QEMU guest agent is not running"), &status.GuestAgent{
			Silence: "it is switched off in Proxmox VE", Remedy: "`em-infra up` switches it on, which reboots the machine",
		}},
		"may not be asked": {agent, on, refuses(403, "Permission check failed"), &status.GuestAgent{
			Silence: "the token may not ask it", Remedy: "`em-infra role` with the stack prints what the token lacks",
		}},
		"knows no such command": {agent, on, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":{"result":{"error":{"class":"CommandNotFound","desc":"The command has been disabled"}}}}`)) // to a client that has gone
		}, &status.GuestAgent{Silence: "The command has been disabled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := agentSources(t, test.extension, test.setting, test.handler).Report(t.Context(), today)
			require.Equal(t, test.want, report.Machines[0].GuestAgent)
		})
	}
}

// TestASilentGuestAgentHoldsNobodyUp: a host that does not answer at all gets five seconds, a quarter of the limit for a source.
func TestASilentGuestAgentHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	sources := agentSources(t, "siderolabs/qemu-guest-agent", "1", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	report := sources.Report(t.Context(), today)
	require.Equal(t, &status.GuestAgent{Silence: "no answer within 5s", Remedy: "ask again when the host has less to do"}, report.Machines[0].GuestAgent)
}
