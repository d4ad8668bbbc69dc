package operator_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

func TestPicturedNode(t *testing.T) {
	t.Parallel()
	node := inventory.Node{
		Name: "gpu-1", Role: inventory.RoleGPUWorker, VMID: 110, Sockets: 2, Address: netip.MustParseAddr("192.168.20.31"), Address6: netip.MustParseAddr("fd00::31"),
		Size: inventory.Size{Cores: 4, MemoryMiB: 32768, DiskGiB: 256}, GPUs: []inventory.GPU{{Mapping: "rtx3090"}},
	}
	require.Equal(t, graph.Node{
		Name: "gpu-1", Role: graph.GPUWorker, VMID: 110, Cores: 8, MemoryMiB: 32768, DiskGiB: 256,
		Addresses: []netip.Addr{netip.MustParseAddr("192.168.20.31"), netip.MustParseAddr("fd00::31")}, GPUs: []string{"rtx3090"}, Health: graph.Healthy,
	}, operator.PicturedNode(node, graph.Healthy))
}
