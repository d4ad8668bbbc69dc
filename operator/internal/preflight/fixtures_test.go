package preflight_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

const clusterYAML = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: home
talos: {version: v1.12.4, contract: v1.12, schematic: {extensions: [siderolabs/qemu-guest-agent]}}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1, vlan: 20}
proxmox: {host: pve1, isoStorage: local, diskStorage: tank, template: {vmid: 9000, perHost: {pve2: 9001}}}
`

const nodesYAML = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp1, role: control-plane, vmid: 101, address: 192.168.20.11, mac: "BC:24:11:00:00:01", startup: {order: 1}}
  - {name: w1, role: worker, vmid: 102, address: 192.168.20.21, mac: "BC:24:11:00:00:02", host: pve2, dataDisks: [{sizeGiB: 40, mount: data}]}
  - name: gpu1
    role: gpu-worker
    vmid: 103
    address: 192.168.20.31
    mac: "BC:24:11:00:00:03"
    gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]
`

// inventoryOf returns an inventory with two hosts and a GPU worker on the first.
func inventoryOf(t *testing.T, cluster, nodes string) *inventory.Inventory {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, inventory.ClusterFile), []byte(cluster), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, inventory.NodesFile), []byte(nodes), 0o600))
	inv, err := inventory.Load(dir)
	require.NoError(t, err)
	return inv
}

const gib = 1 << 30

// allowed returns the role's privileges in a release.
func allowed(major int) preflight.Reading[[]string] {
	return preflight.Reading[[]string]{Value: role.Need{Release: role.Release{Major: major, Minor: 1}, GuestAgent: true}.Privileges()}
}

func host() preflight.Host {
	return preflight.Host{
		Capacity: preflight.Reading[pve.Capacity]{Value: pve.Capacity{Threads: 12, MemoryBytes: 64 * gib}},
		Storages: preflight.Reading[[]pve.Storage]{Value: []pve.Storage{
			{Name: "local", Content: "iso,vztmpl", Active: true, AvailableBytes: 80 * gib},
			{Name: "tank", Content: "images,rootdir", Active: true, AvailableBytes: 900 * gib},
		}},
		Bridges: preflight.Reading[[]pve.Bridge]{Value: []pve.Bridge{{Name: "vmbr0", Type: "bridge", VLANAware: true, Ports: "eno1"}}},
	}
}

// card returns a GPU with its sound function.
func card() []pve.PCIDevice {
	return []pve.PCIDevice{
		{
			Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462",
			SubsystemDevice: "0x3881", VendorName: "NVIDIA Corporation", DeviceName: "GA102 [GeForce RTX 3090]", IOMMUGroup: 14,
		},
		{Address: "0000:01:00.1", Class: "0x040300", Vendor: "0x10de", Device: "0x1aef", IOMMUGroup: 14},
	}
}

// sound returns a snapshot of hosts that can run the inventory.
func sound(t *testing.T) (*inventory.Inventory, preflight.Snapshot) {
	t.Helper()
	first, second := host(), host()
	first.Devices.Value = card()
	first.Passthrough.Value = passthrough.Facts{
		Processor: passthrough.Intel, Kernel: "6.5.13-6-pve",
		Report: passthrough.Report{CommandLine: []string{"BOOT_IMAGE=/boot/vmlinuz", "quiet"}, Drivers: map[string]passthrough.Drivers{"0000:01:00.0": {}}},
	}
	found := preflight.Snapshot{
		Endpoint: "https://pve1:8006", Token: "ops@pve!k8s", Took: 12 * time.Millisecond,
		Version: preflight.Reading[string]{Value: "9.1.1"},
		Nodes:   preflight.Reading[[]pve.Node]{Value: []pve.Node{{Name: "pve2", Status: "online"}, {Name: "pve1", Status: "online"}}},
		Hosts:   map[string]preflight.Host{"pve1": first, "pve2": second},
		Factory: preflight.Factory{
			URL:        "https://factory.talos.dev",
			Versions:   preflight.Reading[[]string]{Value: []string{"v1.12.3", "v1.12.4"}},
			Needed:     []string{"siderolabs/qemu-guest-agent"},
			Extensions: preflight.Reading[[]string]{Value: []string{"siderolabs/qemu-guest-agent"}},
		},
		Privileges: map[string]preflight.Reading[[]string]{},
		Configs:    map[int]preflight.Reading[pve.GuestConfig]{},
		Owner:      ownership.Owner{Stack: "home", Cluster: "0123456789ab"},
		Knows:      map[int]bool{101: true, 102: true, 103: true, 9000: true, 9001: true},
	}
	for _, path := range []string{
		"/", "/nodes/pve1", "/nodes/pve2", "/storage/local", "/storage/tank", "/vms/101", "/vms/102", "/vms/103", "/vms/9000", "/vms/9001",
		"/sdn/zones/localnetwork/vmbr0", "/sdn/zones/localnetwork/vmbr0/20", "/mapping/pci",
	} {
		found.Privileges[path] = allowed(9)
	}
	return inventoryOf(t, clusterYAML, nodesYAML), found
}

// change changes a copy of one host's facts.
func change(found *preflight.Snapshot, name string, alter func(*preflight.Host)) {
	found.Hosts = maps.Clone(found.Hosts)
	h := found.Hosts[name]
	alter(&h)
	found.Hosts[name] = h
}

// add adds a guest with a configuration to a host.
func add(found *preflight.Snapshot, guest pve.Guest, config pve.GuestConfig) {
	found.Guests.Value = append(slices.Clone(found.Guests.Value), guest)
	found.Configs[guest.VMID] = preflight.Reading[pve.GuestConfig]{Value: config}
}

// addFormer adds the machine of w1 with another VMID, with the mark of the stack or without one.
func addFormer(found *preflight.Snapshot, status string, isMarked bool) {
	config := pve.GuestConfig{"net0": "virtio=bc:24:11:00:00:77,bridge=vmbr0", "ipconfig0": "ip=192.168.20.21/24,gw=192.168.20.1"}
	if isMarked {
		config["description"] = found.Owner.Mark()
	}
	add(found, pve.Guest{VMID: 400, Name: "w1", Node: "pve2", Type: "qemu", Status: status}, config)
}
