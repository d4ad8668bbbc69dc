package inventory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// standing returns an inventory with one machine, and a template, on a host.
func standing(t *testing.T, dir, host string, vmid, template, address, vip int) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse(dir, fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Cluster
name: %s
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.%d}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: %s, diskStorage: tank, template: {vmid: %d}}
`, dir, vip, host, template), fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: %s-cp-1, role: control-plane, vmid: %d, address: 192.168.20.%d}
`, dir, vmid, address))
	require.NoError(t, err)
	return inv
}

func TestCheckBeside(t *testing.T) {
	t.Parallel()
	first := standing(t, "home", "vmhost", 101, 9000, 11, 10)
	const same = " of stack home too (both stacks stand on the same host; got "
	for _, test := range []struct {
		name   string
		second *inventory.Inventory
		want   string
	}{
		{"nothing in common but the template", standing(t, "next", "vmhost", 111, 9000, 21, 20), ""},
		{"another host", standing(t, "next", "other", 101, 9000, 11, 10), ""},
		{"a VMID", standing(t, "next", "vmhost", 101, 9000, 21, 20), "next/nodes.yaml:4: nodes[0].vmid: is the VMID of home-cp-1" + same + "101): choose another, 100 to 999999999\n"},
		{"a template's VMID", standing(t, "next", "vmhost", 111, 101, 21, 20), "next/cluster.yaml:7: proxmox.template.vmid: is the VMID of home-cp-1" + same + "101): choose another, 100 to 999999999\n"},
		{"an address", standing(t, "next", "vmhost", 111, 9000, 11, 20), "next/nodes.yaml:4: nodes[0].address: is the address of home-cp-1" + same + "192.168.20.11): choose a free address\n"},
		{"a node's address that is a vip", standing(t, "next", "vmhost", 111, 9000, 10, 20), "next/nodes.yaml:4: nodes[0].address: is the address of the Kubernetes API (its vip)" + same + "192.168.20.10): choose a free address\n"},
		{"a vip that is a node's address", standing(t, "next", "vmhost", 111, 9000, 21, 11), "next/cluster.yaml:5: kubernetes.endpoint.vip: is the address of home-cp-1" + same + "192.168.20.11): choose a free address\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.second.CheckBeside(inventory.Beside{Stack: "home", Inventory: first})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want+"1 problem in 1 file; nothing was touched")
		})
	}
}

// with returns an inventory of the same cluster as [standing], with other lines.
func with(t *testing.T, dir, network, nodes string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse(dir, fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Cluster
name: %s
talos: {contract: v1.12}
kubernetes: {endpoint: {host: k8s.home.arpa}}
network: {%s}
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`, dir, network), fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
%s`, nodes))
	require.NoError(t, err)
	return inv
}

// TestWhatTwoStacksDoNotShare: names, MAC addresses, GPUs and VLANs, in addition to the VMIDs and addresses of TestCheckBeside.
func TestWhatTwoStacksDoNotShare(t *testing.T) {
	t.Parallel()
	const (
		home = "cidr: 192.168.20.0/24, gateway: 192.168.20.1, vlan: 20"
		gpu  = "gpus: [{bdf: '0000:01:00.0', deviceId: '10de:2204', subsystemId: '1462:3881', iommuGroup: 14}]"
		same = " of stack home too (both stacks stand on the same host; got "
	)
	first := with(t, "home", home, `  - {name: cp-1, role: control-plane, vmid: 101, address: 192.168.20.11, mac: 'BC:24:11:00:00:01'}
  - {name: gpu-1, role: gpu-worker, vmid: 103, address: 192.168.20.31, `+gpu+`, networks: [{bridge: vmbr1, mac: 'BC:24:11:00:00:02'}]}
`)
	for name, test := range map[string]struct {
		dir, network, nodes, want string
	}{
		"nothing": {"next", home, "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21}\n", ""},
		"the cluster's name": {
			"home", home, "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21}\n",
			"home/cluster.yaml:3: name: is the name of the cluster" + same + "home): choose another name\n",
		},
		"a node's name": {
			"next", home, "  - {name: gpu-1, role: control-plane, vmid: 111, address: 192.168.20.21}\n",
			"next/nodes.yaml:4: nodes[0].name: is the name of gpu-1" + same + "gpu-1): choose another name\n",
		},
		"a MAC address": {
			"next", home, "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21, mac: 'BC:24:11:00:00:02'}\n",
			"next/nodes.yaml:4: nodes[0].mac: is the MAC address of gpu-1" + same + "BC:24:11:00:00:02): choose another, or remove the key to have one derived\n",
		},
		"a further card's MAC address": {
			"next", home, "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21, networks: [{bridge: vmbr1, mac: 'BC:24:11:00:00:01'}]}\n",
			"next/nodes.yaml:4: nodes[0].networks[0].mac: is the MAC address of cp-1" + same + "BC:24:11:00:00:01): choose another, or remove the key to have one derived\n",
		},
		"a GPU's group": {
			"next", home, `  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21}
  - {name: gpu-2, role: gpu-worker, vmid: 113, address: 192.168.20.33, gpus: [{bdf: '0000:01:00.1', deviceId: '10de:2204', subsystemId: '1462:3881', iommuGroup: 14}]}
`,
			"next/nodes.yaml:5: nodes[1].gpus[0].iommuGroup: is the IOMMU group of devices of gpu-1" + same + "14): give all devices of the group to one of the two stacks\n",
		},
		"a GPU": {
			"next", home, `  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.20.21}
  - {name: gpu-2, role: gpu-worker, vmid: 113, address: 192.168.20.33, gpus: [{bdf: '0000:01:00.0', deviceId: '10de:2204', subsystemId: '1462:3881', iommuGroup: 15}]}
`,
			"next/nodes.yaml:5: nodes[1].gpus[0].bdf: is a device of gpu-1" + same + "0000:01:00.0): give it to one of the two stacks\n",
		},
		"a VLAN": {
			"next", "cidr: 192.168.30.0/24, gateway: 192.168.30.1, vlan: 20", "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.30.21}\n",
			"next/cluster.yaml:6: network.vlan: is the VLAN of stack home on vmbr0 too, whose network there is 192.168.20.0/24 (a VLAN has one network; got 20): choose another vlan, or the same network.cidr\n",
		},
		"a VLAN of another bridge": {
			"next", "cidr: 192.168.30.0/24, gateway: 192.168.30.1, vlan: 20, bridge: vmbr1", "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.30.21}\n", "",
		},
		"no VLAN": {"next", "cidr: 192.168.30.0/24, gateway: 192.168.30.1", "  - {name: cp-2, role: control-plane, vmid: 111, address: 192.168.30.21}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := with(t, test.dir, test.network, test.nodes).CheckBeside(inventory.Beside{Stack: "home", Inventory: first})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want+"1 problem in 1 file; nothing was touched")
		})
	}
}

// TestTwoStacksOfOneProxmoxVE: two stacks must not share a VMID on different hosts either, since VMIDs are unique in the whole of a Proxmox VE.
func TestTwoStacksOfOneProxmoxVE(t *testing.T) {
	t.Parallel()
	first, second := standing(t, "home", "vmhost", 101, 9000, 11, 10), standing(t, "next", "other", 101, 9000, 21, 20)
	require.NoError(t, second.CheckBeside(inventory.Beside{Stack: "home", Inventory: first}))
	require.EqualError(t, second.CheckBeside(inventory.Beside{Stack: "home", Inventory: first, SameEndpoint: true}),
		"next/nodes.yaml:4: nodes[0].vmid: is the VMID of home-cp-1 of stack home too (both stacks are in the same Proxmox VE; got 101): choose another, 100 to 999999999\n1 problem in 1 file; nothing was touched")
}
