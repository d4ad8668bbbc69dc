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
name: lab
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.%d}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: %s, diskStorage: tank, template: {vmid: %d}}
`, vip, host, template), fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp-1, role: control-plane, vmid: %d, address: 192.168.20.%d}
`, vmid, address))
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
		{"a VMID", standing(t, "next", "vmhost", 101, 9000, 21, 20), "next/nodes.yaml:4: nodes[0].vmid: is the VMID of cp-1" + same + "101): choose another, 100 to 999999999\n"},
		{"a template's VMID", standing(t, "next", "vmhost", 111, 101, 21, 20), "next/cluster.yaml:7: proxmox.template.vmid: is the VMID of cp-1" + same + "101): choose another, 100 to 999999999\n"},
		{"an address", standing(t, "next", "vmhost", 111, 9000, 11, 20), "next/nodes.yaml:4: nodes[0].address: is the address of cp-1" + same + "192.168.20.11): choose a free address\n"},
		{"a node's address that is a vip", standing(t, "next", "vmhost", 111, 9000, 10, 20), "next/nodes.yaml:4: nodes[0].address: is the address of the Kubernetes API (its vip)" + same + "192.168.20.10): choose a free address\n"},
		{"a vip that is a node's address", standing(t, "next", "vmhost", 111, 9000, 21, 11), "next/cluster.yaml:5: kubernetes.endpoint.vip: is the address of cp-1" + same + "192.168.20.11): choose a free address\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.second.CheckBeside("home", first)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want+"1 problem in 1 file; nothing was touched")
		})
	}
}
