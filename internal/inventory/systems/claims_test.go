package systems_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

// cluster returns an inventory of a cluster with one node.
func cluster(t *testing.T, name string, vmid, address int, mac string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse("k8s", []byte(`apiVersion: em-infra/v1alpha1
kind: Cluster
name: k8s
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network: {cidr: 192.168.20.0/24, gateway: 192.168.20.1}
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`), fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: %s, role: control-plane, vmid: %d, address: 192.168.20.%d, mac: "%s"}
`, name, vmid, address, mac))
	require.NoError(t, err)
	return inv
}

// dns returns an inventory of one container.
func dns(t *testing.T, name string, vmid, address int) *systems.Inventory {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), fmt.Appendf(nil, `apiVersion: em-infra/v1alpha1
kind: Systems
name: home
proxmox: {host: vmhost, diskStorage: tank}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:%s", osType: debian}
containers:
  - {name: %s, vmid: %d, template: debian, networks: [{address: 192.168.20.%d/24, mac: "BC:24:11:00:00:05"}]}
`, strings.Repeat("ab", 32), name, vmid, address), 0o600))
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	return inv
}

// TestSystemsShareNothingWithACluster: a stack of systems and a cluster must not claim the same thing, and each is checked against the other.
func TestSystemsShareNothingWithACluster(t *testing.T) {
	t.Parallel()
	pihole := dns(t, "pihole", 211, 5)
	const (
		mine  = " of stack k8s too (both stacks stand on the same host; got "
		other = " of stack systems too (both stacks stand on the same host; got "
		end   = "\n1 problem in 1 file; nothing was touched"
	)
	for name, test := range map[string]struct {
		cluster       *inventory.Inventory
		here, reverse string
	}{
		"nothing in common": {cluster(t, "cp-1", 101, 11, "BC:24:11:00:00:01"), "", ""},
		"a name": {
			cluster(t, "pihole", 101, 11, "BC:24:11:00:00:01"),
			"8: containers[0].name: is the name of pihole" + mine + "pihole): choose another name",
			"k8s/nodes.yaml:4: nodes[0].name: is the name of pihole" + other + "pihole): choose another name",
		},
		"a VMID": {
			cluster(t, "cp-1", 211, 11, "BC:24:11:00:00:01"),
			"8: containers[0].vmid: is the VMID of cp-1" + mine + "211): choose another, 100 to 999999999",
			"k8s/nodes.yaml:4: nodes[0].vmid: is the VMID of pihole" + other + "211): choose another, 100 to 999999999",
		},
		"an address": {
			cluster(t, "cp-1", 101, 5, "BC:24:11:00:00:01"),
			"8: containers[0].networks[0].address: is the address of cp-1" + mine + "192.168.20.5): choose a free address",
			"k8s/nodes.yaml:4: nodes[0].address: is the address of pihole" + other + "192.168.20.5): choose a free address",
		},
		"a MAC address": {
			cluster(t, "cp-1", 101, 11, "BC:24:11:00:00:05"),
			"8: containers[0].networks[0].mac: is the MAC address of cp-1" + mine + "BC:24:11:00:00:05): choose another, or remove the key to have one derived",
			"k8s/nodes.yaml:4: nodes[0].mac: is the MAC address of pihole" + other + "BC:24:11:00:00:05): choose another, or remove the key to have one derived",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := inventory.CheckBeside(pihole, inventory.Beside{Stack: "k8s", Inventory: test.cluster})
			reverse := test.cluster.CheckBeside(inventory.Beside{Stack: "systems", Inventory: pihole})
			if test.here == "" {
				require.NoError(t, here)
				require.NoError(t, reverse)
				return
			}
			require.EqualError(t, here, filepath.Join(pihole.Dir, "systems.yaml")+":"+test.here+end)
			require.EqualError(t, reverse, test.reverse+end)
		})
	}
}

// TestAnApplianceClaimsNoAddress: its own installer has set it, so only its name, VMID and MAC addresses are known.
func TestAnApplianceClaimsNoAddress(t *testing.T) {
	t.Parallel()
	inv, err := systems.Load(filepath.Join("testdata", "valid-appliances"))
	require.NoError(t, err)
	var claimed []string
	for _, claim := range inv.Claims() {
		if strings.HasSuffix(claim.Owner, " of firewall") {
			claimed = append(claimed, claim.ID.Value)
		}
	}
	require.Equal(t, []string{"firewall", "220", "BC:24:11:00:00:21", "BC:24:11:26:DD:6A"}, claimed)
}

// TestStacksOnOtherHostsAreCompared only if both name the same Proxmox VE.
func TestStacksOnOtherHostsAreCompared(t *testing.T) {
	t.Parallel()
	pihole, same := dns(t, "pihole", 211, 5), dns(t, "dns", 211, 6)
	same.File.Containers[0].Host = "other"
	require.NoError(t, inventory.CheckBeside(pihole, inventory.Beside{Stack: "b", Inventory: same}))
	require.ErrorContains(t, inventory.CheckBeside(pihole, inventory.Beside{Stack: "b", Inventory: same, SameEndpoint: true}),
		"containers[0].vmid: is the VMID of dns of stack b too (both stacks are in the same Proxmox VE; got 211)")
}

func TestASystemIsFoundByItsNameOrVMID(t *testing.T) {
	t.Parallel()
	pihole := dns(t, "pihole", 211, 5)
	for guest, want := range map[string]int{"pihole": 211, "211": 211, "999": 999} {
		vmid, err := pihole.FindVMID(guest)
		require.NoError(t, err)
		require.Equal(t, want, vmid, guest)
	}
	_, err := pihole.FindVMID("pihol")
	require.EqualError(t, err, `the inventory has no system "pihol": did you mean pihole?`)
}
