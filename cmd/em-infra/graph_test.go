package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/graph"
	"github.com/em-infra/em-infra/internal/inventory"
)

func TestGraphDrawsTheInventory(t *testing.T) {
	root := project(t)
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev")
	require.Equal(t, exitOK, drawn.code, drawn.err)
	require.Contains(t, drawn.out, "<svg ")
	require.Contains(t, drawn.out, ">cp-1<")
	require.Contains(t, drawn.out, "cp-1: control plane, not asked")

	require.Equal(t, outcome{out: "drawn: cluster.svg\n"}, em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "cluster.svg"))
	text, err := os.ReadFile(filepath.Join(root, "cluster.svg"))
	require.NoError(t, err)
	require.Equal(t, drawn.out, string(text))
	require.Equal(t, refusal("--out: open nowhere/cluster.svg: no such file or directory: choose a file in a folder that is there"),
		em(t.Context(), "graph", "--stack", "k3s-dev", "--out", "nowhere/cluster.svg"))
}

func TestGraphShowsTheLabsAddresses(t *testing.T) {
	root := project(t)
	stoppedLab(t, root)
	drawn := em(t.Context(), "graph", "--stack", "k3s-dev", "--lab")
	require.Equal(t, exitOK, drawn.code, drawn.err)
	require.Contains(t, drawn.out, ">127.20.20.11<")
}

func TestPicturedNode(t *testing.T) {
	t.Parallel()
	node := inventory.Node{
		Name: "gpu-1", Role: inventory.RoleGPUWorker, VMID: 110, Sockets: 2, Address: netip.MustParseAddr("192.168.20.31"), Address6: netip.MustParseAddr("fd00::31"),
		Size: inventory.Size{Cores: 4, MemoryMiB: 32768, DiskGiB: 256}, GPUs: []inventory.GPU{{Mapping: "rtx3090"}},
	}
	require.Equal(t, graph.Node{
		Name: "gpu-1", Role: graph.GPUWorker, VMID: 110, Cores: 8, MemoryMiB: 32768, DiskGiB: 256,
		Addresses: []netip.Addr{netip.MustParseAddr("192.168.20.31"), netip.MustParseAddr("fd00::31")}, GPUs: []string{"rtx3090"}, Health: graph.Healthy,
	}, picturedNode(node, graph.Healthy))
}
