package lab_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

func TestHostsOfASmallInventory(t *testing.T) {
	t.Parallel()
	hosts := lab.Hosts(parse(t, clusterYAML, nodesYAML))
	require.Len(t, hosts, 1)
	hosts[0].PCI = nil // has tests of its own
	require.Equal(t, []proxmox.Host{{
		Name: "vmhost", Cores: 16, CPUModel: "AMD EPYC 4244P 6-Core Processor", MemoryMiB: 64 << 10,
		Storages: []proxmox.Storage{
			{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 1 << 40, Path: "/var/lib/vz"},
			{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 1 << 40},
		},
		Bridges: []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true}},
	}}, hosts)
}

// A host has everything that the inventory names, with enough room.
func TestHostsHaveWhatTheInventoryNames(t *testing.T) {
	t.Parallel()
	cluster := strings.Replace(clusterYAML, "{vmid: 9000}", "{vmid: 9000, perHost: {vmhost2: 9001}}", 1)
	hosts := lab.Hosts(parse(t, cluster, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.217.11, host: vmhost2, diskStorage: local}
  - name: k3s-dev-worker-1
    role: worker
    vmid: 102
    address: 192.168.217.21
    host: vmhost2
    memoryMiB: 131072
    diskGiB: 2048
    dataDisks: [{sizeGiB: 2048, storage: slow, mount: data}]
    networks: [{bridge: vmbr1}]
`))
	require.Len(t, hosts, 2)
	require.Equal(t, "vmhost", hosts[0].Name, "the cluster's own host, though it has no node")
	second := hosts[1]
	require.Equal(t, "vmhost2", second.Name)
	require.Greater(t, second.MemoryMiB, 131072)
	require.Equal(t, []proxmox.Bridge{
		{Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true}, {Name: "vmbr1", Ports: []string{"eno1"}, VLANAware: true},
	}, second.Bridges)
	var names []string
	for _, s := range second.Storages {
		names = append(names, s.Name)
		require.Greater(t, s.TotalBytes, uint64(4096<<30))
	}
	require.Equal(t, []string{"local", "slow", "tank"}, names)
	require.Equal(t, []string{storage.ISO, storage.Images}, second.Storages[0].Content, "a storage that serves both is a folder")
}

// Shared storages are the same on each host. A storage that only one host names is its own.
func TestHostsOfASharedTemplateShareItsStorages(t *testing.T) {
	t.Parallel()
	cluster := strings.NewReplacer("isoStorage: local, diskStorage: tank", "isoStorage: nas, diskStorage: ceph", "{vmid: 9000}", "{vmid: 9000, shared: true}").Replace(clusterYAML)
	hosts := lab.Hosts(parse(t, cluster, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.217.11, diskStorage: fast}
  - {name: k3s-dev-worker-1, role: worker, vmid: 102, address: 192.168.217.21, host: vmhost2}
  - {name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.217.22, host: vmhost2, diskStorage: nas}
`))
	require.Len(t, hosts, 2)
	folder := proxmox.Storage{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 1 << 40, Path: "/var/lib/vz"}
	shared := []proxmox.Storage{
		{Name: "nas", Type: storage.NFS, Content: []string{storage.ISO, storage.Images}, TotalBytes: 1 << 40, Shared: true, Path: "/mnt/pve/nas"},
		{Name: "ceph", Type: storage.RBD, Content: []string{storage.Images}, TotalBytes: 1 << 40, Shared: true},
	}
	own := proxmox.Storage{Name: "fast", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 1 << 40}
	require.Equal(t, append([]proxmox.Storage{folder, own}, shared...), hosts[0].Storages)
	require.Equal(t, append([]proxmox.Storage{folder}, shared...), hosts[1].Storages)
}
