package inventory_test

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/minimal"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

func load(t testing.TB, fixture string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Load(filepath.Join("testdata", fixture))
	require.NoError(t, err)
	return inv
}

func TestEndpointURL(t *testing.T) {
	t.Parallel()
	for fixture, want := range map[string]string{
		"valid-minimal":             "https://192.168.20.10:6443",
		"valid-endpoint-by-name":    "https://api.lab.example:443",
		"valid-endpoint-by-address": "https://192.168.20.11:6443",
		"valid-ipv6":                "https://[fd00:20::10]:6443",
	} {
		require.Equal(t, want, load(t, fixture).Cluster.EndpointURL().String(), fixture)
	}
}

func TestTemplateOfAHost(t *testing.T) {
	t.Parallel()
	cluster := load(t, "valid-three-hosts").Cluster
	require.Equal(t, 9000, cluster.TemplateVMID("vmhost"))
	require.Equal(t, 9001, cluster.TemplateVMID("vmhost2"))
	require.Equal(t, 9002, cluster.TemplateVMID("vmhost3"))
	require.Zero(t, cluster.TemplateVMID("vmhost4"))
	require.Equal(t, "talos-v1.12.4-base", cluster.TemplateName())
	require.Equal(t, "talos-base", load(t, "valid-every-key").Cluster.TemplateName())
}

func TestNodesByRoleAndHost(t *testing.T) {
	t.Parallel()
	names := func(nodes inventory.Nodes) (names []string) {
		for _, node := range nodes {
			names = append(names, node.Name)
		}
		return names
	}
	nodes := load(t, "valid-three-hosts").Nodes
	require.Equal(t, []string{"cp-1", "cp-2", "cp-3"}, names(nodes.ControlPlanes()))
	require.Equal(t, []string{"w-1"}, names(nodes.Workers()))
	require.Equal(t, []string{"vmhost", "vmhost2", "vmhost3"}, nodes.Hosts())
	require.Equal(t, []string{"cp-1", "w-1"}, names(nodes.OnHost("vmhost")))
	require.Empty(t, nodes.OnHost("vmhost4"))
	nodes = load(t, "valid-example").Nodes
	require.Equal(t, []string{"k3s-dev-worker-1", "k3s-dev-gpu-1"}, names(nodes.Workers()))
	require.Equal(t, []string{"k3s-dev-gpu-1"}, names(nodes.GPUWorkers()))
}

func TestPrefixOfANode(t *testing.T) {
	t.Parallel()
	inv := load(t, "valid-example")
	require.Equal(t, netip.MustParsePrefix("192.168.20.11/24"), inv.Nodes[0].Prefix(inv.Cluster))
}

func TestBothHalvesOfDualStack(t *testing.T) {
	t.Parallel()
	single, dual := load(t, "valid-minimal"), load(t, "valid-dual-stack")
	prefixes := func(texts ...string) (prefixes []netip.Prefix) {
		for _, text := range texts {
			prefixes = append(prefixes, netip.MustParsePrefix(text))
		}
		return prefixes
	}
	require.Equal(t, prefixes("192.168.20.11/24"), single.Nodes[0].Prefixes(single.Cluster))
	require.Equal(t, prefixes("192.168.20.11/24", "fd00:20::11/64"), dual.Nodes[0].Prefixes(dual.Cluster))
	require.Equal(t, prefixes("192.168.20.0/24"), single.Cluster.Network.Subnets())
	require.Equal(t, prefixes("192.168.20.0/24", "fd00:20::/64"), dual.Cluster.Network.Subnets())
	v4, v6 := netip.MustParseAddr("192.168.20.1"), netip.MustParseAddr("fd00:20::1")
	require.Equal(t, []netip.Addr{v4}, single.Cluster.Network.Gateways())
	require.Equal(t, []netip.Addr{v4, v6}, dual.Cluster.Network.Gateways())
}

func TestMappingNames(t *testing.T) {
	t.Parallel()
	node := load(t, "valid-gpu-by-address").Nodes.GPUWorkers()[0]
	require.Equal(t, "gpu-1-gpu0", node.MappingName(0))
	require.Equal(t, "gpu-1-gpu1", node.MappingName(1))
}

// Derived MAC addresses must stay what they are for ever: a change would replace the address of every node. These were
// computed outside of Go: the first three bytes of sha256("lab/101/0") and so on.
func TestDerivedMACsAreStable(t *testing.T) {
	t.Parallel()
	nodes := load(t, "valid-minimal").Nodes
	require.Equal(t, "BC:24:11:79:6A:AF", nodes[0].MAC.String())
	require.Equal(t, "BC:24:11:AA:0A:57", nodes[1].MAC.String())
	require.Equal(t, "BC:24:11:44:11:4C", load(t, "valid-every-key").Nodes[1].NICs[1].MAC.String())
}

// A file that exists but cannot be read is not reported as a problem of the inventory.
func TestUnreadableInventory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, inventory.ClusterFile), 0o755))
	_, err := inventory.Load(dir)
	var problems *inventory.Problems
	require.False(t, errors.As(err, &problems))
	require.EqualError(t, err, "read inventory: read "+filepath.Join(dir, inventory.ClusterFile)+": is a directory")
}

func TestOneProblem(t *testing.T) {
	t.Parallel()
	_, err := inventory.Load("testdata/invalid-vlan-zero")
	var problems *inventory.Problems
	require.ErrorAs(t, err, &problems)
	require.Equal(t, 1, problems.Len())
	problem := (*problems)[0]
	require.Equal(t, "testdata/invalid-vlan-zero/cluster.yaml", problem.File)
	require.Equal(t, 9, problem.Line)
	require.Equal(t, 9, problem.Column)
	require.Equal(t, "network.vlan", problem.Path)
	require.Equal(t, "1 to 4094", problem.Rule)
	require.Equal(t, "0", problem.Got)
}

// Files that were written on Windows, or by an editor that marks UTF-8, are read like any other.
func TestLineEndingsAndByteOrderMark(t *testing.T) {
	t.Parallel()
	want := load(t, "valid-example")
	file := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata/valid-example", name))
		require.NoError(t, err)
		return append([]byte("\uFEFF"), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...)
	}
	got, err := inventory.Parse("windows", file(inventory.ClusterFile), file(inventory.NodesFile))
	require.NoError(t, err)
	requireSame(t, want, got)
}

// The sizes that the documentation of Talos asks for are never below those that Talos' own health check asks for.
func TestFloorsAreAboveTalosOwn(t *testing.T) {
	t.Parallel()
	const mebibyte, gibibyte = 1 << 20, 1 << 30
	controlPlane, _, err := minimal.Memory(machine.TypeControlPlane)
	require.NoError(t, err)
	worker, _, err := minimal.Memory(machine.TypeWorker)
	require.NoError(t, err)
	for role, least := range map[inventory.Role]uint64{
		inventory.RoleControlPlane: controlPlane, inventory.RoleWorker: worker, inventory.RoleGPUWorker: worker,
	} {
		floor := hardware.LeastSize(role == inventory.RoleControlPlane)
		require.GreaterOrEqual(t, uint64(floor.MemoryMiB)*mebibyte, least, role)
		require.GreaterOrEqual(t, uint64(floor.DiskGiB)*gibibyte, minimal.DiskSize(), role)
	}
}
