package newstack_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/newstack"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// installed is a host as the installer of Proxmox VE leaves it.
func installed() preflight.Host {
	return preflight.Host{
		Capacity: preflight.Reading[pve.Capacity]{Value: pve.Capacity{Threads: 16, MemoryBytes: 64 << 30}},
		Storages: preflight.Reading[[]pve.Storage]{Value: []pve.Storage{
			{Name: "local", Content: "iso,vztmpl", Active: true, AvailableBytes: 90 << 30},
			{Name: "local-lvm", Content: "images,rootdir", Active: true, AvailableBytes: 1000 << 30},
		}},
		Bridges: preflight.Reading[[]pve.Bridge]{Value: []pve.Bridge{{Name: "vmbr0", Type: "bridge", VLANAware: true, MTU: json.Number("1500")}}},
	}
}

// siteOf is a site of hosts without a guest.
func siteOf(hosts map[string]preflight.Host) newstack.Site {
	found := preflight.Snapshot{Version: preflight.Reading[string]{Value: "9.1.2"}, Hosts: hosts, Configs: map[int]preflight.Reading[pve.GuestConfig]{}}
	for name := range hosts {
		found.Nodes.Value = append(found.Nodes.Value, pve.Node{Name: name, Status: "online"})
	}
	return newstack.Site{Found: found}
}

// alone is a site of one host.
func alone() newstack.Site { return siteOf(map[string]preflight.Host{"pve": installed()}) }

// three is a site of three hosts that share storages.
func three() newstack.Site {
	hosts := map[string]preflight.Host{}
	for _, name := range []string{"pve1", "pve2", "pve3"} {
		host := installed()
		host.Storages.Value = append(host.Storages.Value,
			pve.Storage{Name: "nas", Content: "iso", Active: true, Shared: true, AvailableBytes: 500 << 30},
			pve.Storage{Name: "ceph", Content: "images", Active: true, Shared: true, AvailableBytes: 4000 << 30})
		hosts[name] = host
	}
	return siteOf(hosts)
}

// changed returns the site with one of its hosts changed.
func changed(site newstack.Site, host string, change func(*preflight.Host)) newstack.Site {
	one := site.Found.Hosts[host]
	change(&one)
	site.Found.Hosts[host] = one
	return site
}

// withGuest adds a guest that runs.
func withGuest(site newstack.Site, guest pve.Guest, config pve.GuestConfig) newstack.Site {
	guest.Status = "running"
	site.Found.Guests.Value = append(site.Found.Guests.Value, guest)
	site.Found.Configs[guest.VMID] = preflight.Reading[pve.GuestConfig]{Value: config}
	return site
}

// card is a GPU of NVIDIA.
func card(address string, group int) pve.PCIDevice {
	return pve.PCIDevice{
		Address: address, Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462", SubsystemDevice: "0x3881",
		VendorName: "NVIDIA Corporation", DeviceName: "GA102 [GeForce RTX 3090]", IOMMUGroup: group,
	}
}

// home are the least answers.
func home() newstack.Answers {
	return newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/24")}
}

// beside is a stack of the project on the same hosts.
func beside(t *testing.T, stack, cluster, nodes string) inventory.Beside {
	t.Helper()
	inv, err := inventory.Parse("stacks/"+stack, []byte(cluster), []byte(nodes))
	require.NoError(t, err)
	return inventory.Beside{Stack: stack, Inventory: inv, SameEndpoint: true}
}

const (
	otherCluster = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: other
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: pve, diskStorage: local-lvm, template: {vmid: 9000}}
`
	otherNodes = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: other-control-1, role: control-plane, vmid: 101, address: 192.168.20.11}
  - {name: other-gpu-1, role: gpu-worker, vmid: 102, address: 192.168.20.12, gpus: [{mapping: big}]}
`
)
