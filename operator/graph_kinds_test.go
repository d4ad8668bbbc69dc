package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func TestPicturedHosts(t *testing.T) {
	t.Parallel()
	file := hosts.File{
		Name: "site",
		Hosts: []hosts.Host{{Name: "pve1", Network: hosts.Network{
			Bridges: []hosts.Bridge{
				{Name: "vmbr1", Ports: []string{"eno2", "eno3"}, VLANAware: true, Addressed: hosts.Addressed{MTU: 9000}}, {Name: "vmbr2"},
			},
			VLANs: []hosts.VLAN{{Device: "vmbr1", Tag: 30}, {Device: "eno4", Tag: 7}},
		}}, {Name: "pve2"}},
		Storages: []hosts.Storage{
			{Name: "local", Type: hosts.StorageDir, Path: "/var/lib/vz", Content: []hosts.Content{hosts.ContentISO, hosts.ContentImport}},
			{Name: "thin", Type: hosts.StorageLVMThin, VolumeGroup: "pve", ThinPool: "data", Hosts: []string{"pve2"}, Content: []hosts.Content{hosts.ContentImages}},
		},
		Mappings: []hosts.Mapping{{Name: "gpu", Devices: []hosts.MappedDevice{
			{Host: "pve1", BDF: "0000:01:00.0", DeviceID: "10de:2204"}, {Host: "pve1", BDF: "0000:02:00.0", DeviceID: "10de:2204"},
		}}},
		USBMappings: []hosts.USBMapping{{Name: "zwave", Devices: []hosts.USBDevice{{Host: "pve2", ID: "0658:0200", Port: "1-2"}}}},
	}
	local := graph.Thing{Name: "local", Facts: []string{"dir", "/var/lib/vz", "iso, import"}}
	require.Equal(t, graph.Hosts{
		Name: "site", About: "2 hosts · 2 storages · 2 mappings",
		Hosts: []graph.EquippedHost{
			{
				Name: "pve1", Storages: []graph.Thing{local},
				Network: []graph.Thing{
					{Name: "vmbr1", Facts: []string{"ports eno2, eno3 · VLAN-aware", "MTU 9000", "VLAN 30"}}, {Name: "vmbr2", Facts: []string{"no ports"}},
					{Name: "eno4", Facts: []string{"VLAN 7"}},
				},
				Devices: []graph.Thing{{Name: "gpu", Facts: []string{"PCI 0000:01:00.0 (10de:2204)", "PCI 0000:02:00.0 (10de:2204)"}}},
			},
			{
				Name: "pve2", Storages: []graph.Thing{local, {Name: "thin", Facts: []string{"lvmthin", "pve/data", "images"}}},
				Devices: []graph.Thing{{Name: "zwave", Facts: []string{"USB 0658:0200 at 1-2"}}},
			},
		},
		Elsewhere: []graph.Thing{local},
	}, operator.PicturedHosts(&hosts.Inventory{File: file}))
}

// TestWhereAStorageIs: each type has another key for it.
func TestWhereAStorageIs(t *testing.T) {
	t.Parallel()
	storage := hosts.Storage{Path: "/srv", Server: "nas", Export: "/mnt/x", Share: "s", Datastore: "d", VolumeGroup: "pve", ThinPool: "data", ZFSPool: "rpool/data"}
	for kind, want := range map[hosts.StorageType]string{
		hosts.StorageDir: "/srv", hosts.StorageNFS: "nas:/mnt/x", hosts.StorageCIFS: "//nas/s", hosts.StorageLVMThin: "pve/data",
		hosts.StorageZFSPool: "rpool/data", hosts.StoragePBS: "nas, datastore d",
	} {
		storage.Type = kind
		require.Equal(t, want, operator.StoragePlace(storage), kind)
	}
	require.Len(t, storage.Type.Choices(), 6, "a new type has a place, too")
}

// TestPicturedSystems: with what their hosts say of them, if they were asked.
func TestPicturedSystems(t *testing.T) {
	t.Parallel()
	file := systems.File{
		Name: "site-systems",
		VirtualMachines: []systems.VirtualMachine{{
			System: systems.System{Name: "tools", Host: "pve1", VMID: 210, Cores: 2, MemoryMiB: 2048, DiskGiB: 16, NICs: []systems.NIC{{Address: systems.Address{DHCP: true}, Bridge: "vmbr0", VLAN: 20}, {Address: systems.Address{DHCP: true}, Bridge: "vmbr1"}}},
			Image:  "debian", DataDisks: []systems.DataDisk{{SizeGiB: 100}},
		}, {
			System: systems.System{Name: "firewall", Host: "pve1", VMID: 220, Cores: 1, MemoryMiB: 1024, DiskGiB: 8, NICs: []systems.NIC{{Bridge: "vmbr0"}, {Bridge: "vmbr0", VLAN: 30}}},
			ISO:    "opnsense",
		}},
		Containers: []systems.Container{{System: systems.System{Name: "pihole", Host: "pve2", VMID: 211, Cores: 1, MemoryMiB: 512, DiskGiB: 8}, Template: "alpine"}},
	}
	require.Equal(t, graph.Systems{
		Name: "site-systems", About: "2 virtual machines · 1 container",
		Systems: []graph.System{
			{Name: "tools", Host: "pve1", VMID: 210, Source: "debian", Cores: 2, MemoryMiB: 2048, DiskGiB: 116, Cards: []string{"dhcp on vmbr0, VLAN 20", "dhcp on vmbr1"}},
			{Name: "firewall", Host: "pve1", VMID: 220, Source: "opnsense", Cores: 1, MemoryMiB: 1024, DiskGiB: 8, Cards: []string{"vmbr0", "vmbr0, VLAN 30"}},
			{Name: "pihole", Host: "pve2", Kind: graph.Container, VMID: 211, Source: "alpine", Cores: 1, MemoryMiB: 512, DiskGiB: 8, Status: "stopped"},
		},
	}, operator.PicturedSystems(&systems.Inventory{File: file}, []status.System{{Name: "pihole", VMID: 211, Status: "stopped"}}))
}

func TestPicturedNAS(t *testing.T) {
	t.Parallel()
	require.Equal(t, &graph.NAS{Name: "nas.example", Pool: "tank", Things: []graph.Thing{
		{Name: "k8s", Facts: []string{"quota 500 GiB", "refquota 400 GiB"}}, {Name: "k8s/ro", Facts: []string{"NFS, read-only"}},
	}}, operator.PicturedNAS(inventory.Storage{Endpoint: "https://nas.example", Pool: "tank", Datasets: []inventory.StorageDataset{
		{Name: "k8s", QuotaGiB: 500, RefQuotaGiB: 400}, {Name: "k8s/ro", NFS: &inventory.NFSShare{ReadOnly: true}},
	}}))
}
