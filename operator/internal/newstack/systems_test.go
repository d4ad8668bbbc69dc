package newstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/operator/internal/newstack"
)

// besideSystems is a stack with one container on the same host.
func besideSystems(t *testing.T, name, vmid, address string) inventory.Beside {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), []byte(`apiVersion: em-infra/v1alpha1
kind: Systems
name: dns
proxmox: {host: pve, diskStorage: local-lvm}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:`+strings.Repeat("ab", 32)+`", osType: debian}
containers:
  - {name: `+name+`, vmid: `+vmid+`, template: debian, networks: [{address: `+address+`/24}]}
`), 0o600))
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	return inventory.Beside{Stack: "dns", Inventory: inv, SameEndpoint: true}
}

// TestWhatSystemsHaveIsTaken: the proposal leaves out the VMID and the address that a cluster would have got, and refuses a name.
func TestWhatSystemsHaveIsTaken(t *testing.T) {
	t.Parallel()
	free := proposed(t, alone())
	first := free.Nodes[0]
	site := alone()
	site.Beside = []inventory.Beside{besideSystems(t, "pihole", "100", first.Address.String())}
	site.Beside = append(site.Beside, besideSystems(t, "mail", "101", "192.168.20.200"))
	inv := proposed(t, site)
	for _, node := range inv.Nodes {
		require.NotContains(t, []int{100, 101}, node.VMID)
		require.NotEqual(t, first.Address, node.Address)
	}
	for _, other := range site.Beside {
		require.NoError(t, inv.CheckBeside(other))
	}

	site.Beside = []inventory.Beside{besideSystems(t, first.Name, "900", "192.168.20.200")}
	_, err := site.Propose(home())
	require.EqualError(t, err, "a system of stack dns is called "+first.Name+" already: choose another name with --cluster, or rename it")
}

// proposed returns the inventory that a site proposes.
func proposed(t *testing.T, site newstack.Site) *inventory.Inventory {
	t.Helper()
	files, err := site.Files(home(), connection)
	require.NoError(t, err)
	paths := newstack.PathsOf(home()).Inventory
	inv, err := inventory.Parse("stacks/home", files[paths[0]], files[paths[1]])
	require.NoError(t, err)
	return inv
}
