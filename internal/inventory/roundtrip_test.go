package inventory_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
)

// requireSame compares what inventories say, not where they were read.
func requireSame(t testing.TB, want, got *inventory.Inventory, message ...any) {
	t.Helper()
	require.Equal(t, want.Cluster, got.Cluster, message...)
	require.Equal(t, want.Nodes, got.Nodes, message...)
}

// reloaded prints an inventory and loads what was printed.
func reloaded(t testing.TB, inv *inventory.Inventory) *inventory.Inventory {
	t.Helper()
	effective, err := inv.Effective()
	require.NoError(t, err)
	again, err := inventory.Parse("printed", effective.Cluster, effective.Nodes)
	require.NoError(t, err, "%s---\n%s", effective.Cluster, effective.Nodes)
	return again
}

// Every valid inventory is the same after load → print → load, and none of its values is a default any more.
func TestPrintedInventoriesLoadTheSame(t *testing.T) {
	t.Parallel()
	for _, dir := range golden.Folders(t, "valid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := inventory.Load(dir)
			require.NoError(t, err)
			again := reloaded(t, inv)
			requireSame(t, inv, again)
			effective, err := again.Effective()
			require.NoError(t, err)
			require.Empty(t, effective.ClusterDefaults)
			require.Empty(t, effective.NodesDefaults)
		})
	}
}

// The same holds for random inventories, with any choice of the optional keys.
func TestPrintedRandomInventoriesLoadTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		cluster, nodes := randomInventory(random)
		inv, err := inventory.Parse("random", []byte(cluster), []byte(nodes))
		require.NoError(t, err, "seed %d\n%s---\n%s", seed, cluster, nodes)
		requireSame(t, inv, reloaded(t, inv), "seed %d", seed)
	}
}

// randomInventory returns a valid inventory with some of the optional keys, as two files.
func randomInventory(random *rand.Rand) (cluster, nodes string) {
	maybe := func(lines ...string) string {
		var chosen strings.Builder
		for _, line := range lines {
			if random.IntN(2) == 0 {
				chosen.WriteString(line + "\n")
			}
		}
		return chosen.String()
	}
	cluster = "apiVersion: em-infra/v1alpha1\nkind: Cluster\nname: random\n" +
		maybe("protect: true", "defaults: {worker: {cores: 6}, gpu-worker: {diskGiB: 99}}") +
		"talos:\n  version: v1.12.4\n  contract: v1.10\n" +
		maybe("  schematic: {kernelArgs: [quiet]}", "  patches: [{machine: {sysctls: {a: \"1\"}}}, \"machine: {}\"]") +
		"kubernetes:\n  endpoint: {vip: 10.9.0.250}\n" +
		maybe("  version: v1.31.2", "  cni: none", "  allowSchedulingOnControlPlanes: true", "  podSubnets: [10.64.0.0/14]") +
		maybe("upgrade: {canary: cp-0, pauseSeconds: 60, maxUnavailable: 30%}") +
		"network:\n  cidr: 10.9.0.0/24\n  gateway: 10.9.0.1\n" +
		maybe("  nameservers: [9.9.9.9]", "  timeServers: [10.9.0.1]", "  addressing: dhcp", "  bridge: vmbr7", "  vlan: 7", "  mtu: 1400") +
		"proxmox:\n  host: a\n  diskStorage: tank\n  template: {vmid: 9000, perHost: {b: 9001}}\n" +
		maybe("  isoStorage: iso-images", "  pool: pool-1", "  tags: [x]")
	nodes = "apiVersion: em-infra/v1alpha1\nkind: Nodes\nnodes:\n"
	for i := range 1 + 2*random.IntN(3) {
		nodes += fmt.Sprintf("  - {name: cp-%d, role: control-plane, vmid: %d, address: 10.9.0.%d}\n", i, 100+i, 10+i)
	}
	for i := range random.IntN(5) {
		nodes += fmt.Sprintf("  - name: w-%d\n    role: worker\n    vmid: %d\n    address: 10.9.0.%d\n", i, 200+i, 100+i)
		nodes += maybe("    host: b", fmt.Sprintf("    mac: 02:00:00:00:00:%02d", i), "    sockets: 2", "    cores: 3", "    memoryMiB: 3000",
			"    diskGiB: 33", "    cpuType: host", "    diskStorage: other", "    dataDisks: [{sizeGiB: 5, mount: five}]",
			fmt.Sprintf("    networks: [{bridge: vmbr1, address: 10.10.0.%d/16}, {bridge: vmbr2, vlan: 9}]", i+1),
			"    labels: {a: b, c: \"\"}", "    taints: {d: \"e:NoSchedule\"}", "    patches: [{machine: {}}]", "    tags: [y]",
			"    startup: {order: 3}", "    protect: true")
	}
	return cluster, nodes
}
