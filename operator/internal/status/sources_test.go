package status_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestTheHostSaysWhetherASilentNodeIsOff: without the host, a silent node could also be a missing route.
func TestTheHostSaysWhetherASilentNodeIsOff(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/api2/json/cluster/resources", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"vmid":101,"type":"qemu","node":"vmhost"},{"vmid":102,"type":"qemu","node":"vmhost"}]}`)
	})
	for vmid, is := range map[int]string{101: "stopped", 102: "running"} {
		mux.HandleFunc(fmt.Sprintf("/api2/json/nodes/vmhost/qemu/%d/status/current", vmid), func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"data":{"status":%q}}`, is)
		})
	}
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "em-infra@pve!t=" + rand.Text(), Insecure: true})
	require.NoError(t, err)
	nodes := inventory.Nodes{
		{Name: "k3s-dev-control-1", Role: inventory.RoleControlPlane, VMID: 101, Address: netip.MustParseAddr("127.193.20.11")},
		{Name: "k3s-dev-worker-1", Role: inventory.RoleWorker, VMID: 102, Address: netip.MustParseAddr("127.193.20.21")},
	}
	health := status.Sources{Inventory: &inventory.Inventory{Nodes: nodes}, Host: host}.Health()
	require.NotNil(t, health.Runs)
	for i, runs := range []bool{false, true} {
		got, err := health.Runs(t.Context(), health.Nodes[i])
		require.NoError(t, err)
		require.Equal(t, runs, got, health.Nodes[i].Name)
	}
	require.EqualError(t, health.Reboot(t.Context(), health.Nodes[0]),
		"k3s-dev-control-1 is switched off, so there is nothing to reboot: `em-infra up` starts it, and then it uses what waited for its boot")
	_, err = health.Runs(t.Context(), rolling.Node{Name: "somebody else"})
	require.EqualError(t, err, "proxmox VE shows the token no VM 0")
}
