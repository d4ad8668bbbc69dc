package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

const clusterYAML = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: k3s-dev
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1, bridge: vmbr0}
proxmox: {host: vmhost, isoStorage: local, diskStorage: tank, template: {vmid: 9000}}
`

// nodesYAML returns a control plane and a worker with these VMIDs and last bytes of their addresses.
func nodesYAML(controlVMID, controlAddress, workerVMID, workerAddress int) string {
	return fmt.Sprintf(`apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: control-1, role: control-plane, vmid: %d, address: 192.168.20.%d}
  - {name: worker-1, role: worker, vmid: %d, address: 192.168.20.%d}
`, controlVMID, controlAddress, workerVMID, workerAddress)
}

func parse(t *testing.T, cluster, nodes string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse("stacks/k3s-dev", []byte(cluster), []byte(nodes))
	require.NoError(t, err)
	return inv
}

func TestWithAWorkerMore(t *testing.T) {
	t.Parallel()
	withHost := strings.Replace(clusterYAML, "vip: 192.168.20.10", "host: 192.168.20.22", 1)
	for name, test := range map[string]struct {
		cluster, nodes string
		vmid           int
		address        string
	}{
		"behind the highest":          {clusterYAML, nodesYAML(101, 11, 102, 21), 103, "192.168.20.22"},
		"behind a template":           {strings.Replace(clusterYAML, "9000", "103", 1), nodesYAML(101, 11, 102, 21), 104, "192.168.20.22"},
		"not the last VMID":           {clusterYAML, nodesYAML(101, 11, 999999999, 21), 100, "192.168.20.22"},
		"not the broadcast address":   {clusterYAML, nodesYAML(101, 11, 102, 254), 103, "192.168.20.2"},
		"not the endpoint":            {withHost, nodesYAML(101, 22, 102, 21), 103, "192.168.20.23"},
		"not the gateway, nor beyond": {strings.Replace(clusterYAML, "gateway: 192.168.20.1", "gateway: 192.168.20.22", 1), nodesYAML(101, 11, 102, 21), 103, "192.168.20.23"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := parse(t, test.cluster, test.nodes)
			extended, err := rehearsal.WithAWorkerMore(inv)
			require.NoError(t, err)
			require.Equal(t, "rehearsal-worker", extended.Worker.Name)
			require.Equal(t, inventory.RoleWorker, extended.Worker.Role)
			require.Equal(t, test.vmid, extended.Worker.VMID)
			require.Equal(t, test.address, extended.Worker.Address.String())
			require.Equal(t, inv.Cluster, extended.Inventory.Cluster)
			require.Equal(t, inv.Nodes, extended.Inventory.Nodes[:2], "the others are as they were")

			again, err := rehearsal.WithAWorkerMore(inv)
			require.NoError(t, err)
			require.Equal(t, string(extended.Nodes), string(again.Nodes))
		})
	}
}

// The new worker does not get a name that the inventory already has.
func TestWithAWorkerMoreOfTheSameName(t *testing.T) {
	t.Parallel()
	inv := parse(t, clusterYAML, strings.Replace(nodesYAML(101, 11, 102, 21), "worker-1", "rehearsal-worker", 1))
	extended, err := rehearsal.WithAWorkerMore(inv)
	require.NoError(t, err)
	require.Equal(t, "rehearsal-worker-2", extended.Worker.Name)
}

func TestWithAWorkerMoreInBothFamilies(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load("../../../internal/inventory/testdata/valid-dual-stack")
	require.NoError(t, err)
	extended, err := rehearsal.WithAWorkerMore(inv)
	require.NoError(t, err)
	require.True(t, inv.Cluster.Network.CIDR6.Contains(extended.Worker.Address6))
}

func TestNoRoomForAWorkerMore(t *testing.T) {
	t.Parallel()
	cluster := strings.NewReplacer("192.168.20.0/24", "192.168.20.0/29", "192.168.20.10", "192.168.20.2").Replace(clusterYAML)
	var nodes strings.Builder
	nodes.WriteString("apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n  - {name: control-1, role: control-plane, vmid: 101, address: 192.168.20.3}\n")
	for i := 4; i < 7; i++ {
		fmt.Fprintf(&nodes, "  - {name: worker-%[1]d, role: worker, vmid: 10%[1]d, address: 192.168.20.%[1]d}\n", i)
	}
	_, err := rehearsal.WithAWorkerMore(parse(t, cluster, nodes.String()))
	require.EqualError(t, err, "network.cidr 192.168.20.0/29 has no free address for one worker more: rehearse with a larger network, or a node less")
}
