package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EAWrittenInventoryIsWhatRuns: the state, the inventory and the stack's file of a cluster of two IP families are gone. Its worker has a GPU,
// data disks and further network cards. The inventory that is written from what runs is adopted, and nothing would change.
func TestE2EAWrittenInventoryIsWhatRuns(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-adopt-written")
	r.equip()
	r.mustRun(0, "up", "--lab", "--yes")
	boots, seen := r.boots(), len(r.calls())
	stackFile := filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml")
	require.NoError(t, os.Remove(stackFile))
	r.mustRun(0, "preview", "--lab") // the state opens with the passphrase alone
	require.FileExists(t, stackFile)
	r.losesItsState()
	require.NoError(t, os.Remove(stackFile))
	r.inventory = filepath.Join(t.TempDir(), "written")

	written := r.mustRun(0, "adopt", "--lab", "--write-inventory")
	require.Contains(t, written, "2 nodes: k3s-dev-control-1, k3s-dev-gpu-1\n")
	nodes := r.inventoryText("nodes.yaml")
	for _, found := range []string{"mount: models\n", "mount: scratch\n", "address: 10.0.40.31/24\n", "vlan: 41\n", "mapping: rtx3090\n", "address6: fd00:20::31\n"} {
		require.Contains(t, nodes, found)
	}
	output := r.mustRun(0, "adopt", "--lab")
	require.Contains(t, output, "nothing would change\n")
	require.Empty(t, writes(r.calls()[seen:]), "the host was only read")
	r.mustRun(0, "preview", "--lab")
	require.Equal(t, boots, r.boots())
}

// equip writes the inventory of a cluster of two IP families, whose worker has a GPU, data disks and further network cards.
func (r *rehearsal) equip() {
	r.t.Helper()
	for _, edit := range [][2]string{
		{"  cidr: 192.168.20.0/24\n  gateway: 192.168.20.1\n", "  cidr: 192.168.20.0/24\n  gateway: 192.168.20.1\n  cidr6: \"fd00:20::/64\"\n  gateway6: fe80::1\n"},
		{"podSubnets: [10.244.0.0/16]", `podSubnets: [10.244.0.0/16, "fd00:244::/56"]`},
		{"serviceSubnets: [10.96.0.0/12]", `serviceSubnets: [10.96.0.0/12, "fd00:96::/112"]`},
	} {
		r.edit("cluster.yaml", edit[0], edit[1])
	}
	r.writeInventory("nodes.yaml", `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.20.11, address6: "fd00:20::11", cores: 2, memoryMiB: 4096, diskGiB: 20}
  - name: k3s-dev-gpu-1
    role: gpu-worker
    vmid: 103
    address: 192.168.20.31
    address6: "fd00:20::31"
    dataDisks: [{sizeGiB: 50, mount: models}, {sizeGiB: 10, mount: scratch}]
    networks: [{bridge: vmbr0, vlan: 40, address: 10.0.40.31/24, mtu: 9000}, {bridge: vmbr0, vlan: 41}]
    gpus: [{mapping: rtx3090}]
`)
}
