package otherstacks_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
)

const cluster = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: k8s
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.20.10}}
network:
  cidr: 192.168.20.0/24
  gateway: 192.168.20.1
  nameservers: [SERVERS]
proxmox: {host: vmhost, diskStorage: tank, template: {vmid: 9000}}
`

const nodes = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: cp-1, role: control-plane, vmid: 101, address: 192.168.20.11}
`

var site = `apiVersion: em-infra/v1alpha1
kind: Systems
name: site
proxmox: {host: vmhost, diskStorage: tank}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:` + strings.Repeat("ab", 32) + `", osType: debian}
containers:
  - {name: pihole, vmid: 211, template: debian, networks: [{address: 10.0.0.5/24}, {address: 192.168.20.5/24}]}
  - {name: far, vmid: 212, template: debian, networks: [{address: "fd00:9::6/64"}, {address: 10.0.0.6/24}]}
  - {name: six, vmid: 213, template: debian, networks: [{address: "fd00:20::7/64"}]}
  - {name: guest, vmid: 214, template: debian, networks: [{address: dhcp}]}
`

// projectWith returns a project whose cluster has the nameservers, and the cluster's inventory. Its stacks are site with systems, broken with
// systems that are not valid, other with a cluster, and bare without an inventory.
func projectWith(t *testing.T, servers string) (root string, inv *inventory.Inventory) {
	t.Helper()
	root = t.TempDir()
	text := strings.Replace(cluster, "SERVERS", servers, 1)
	for path, content := range map[string]string{
		"Pulumi.yaml": "name: em-infra\nruntime: go\n", "Pulumi.k8s.yaml": "config: {}\n", "Pulumi.bare.yaml": "config: {}\n", "Pulumi.broken.yaml": "config: {}\n",
		"Pulumi.other.yaml": "config: {em-infra:inventory: elsewhere/other}\n", "Pulumi.site.yaml": "config: {em-infra:inventory: elsewhere/site}\n",
		"stacks/k8s/cluster.yaml": text, "stacks/k8s/nodes.yaml": nodes, "elsewhere/other/cluster.yaml": text, "elsewhere/other/nodes.yaml": nodes,
		"elsewhere/site/systems.yaml": site, "stacks/broken/systems.yaml": "kind: Systems\n", "stacks/noStack/systems.yaml": site,
	} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	inv, err := inventory.Parse("stacks/k8s", []byte(text), []byte(nodes))
	require.NoError(t, err)
	return root, inv
}

// TestResolve: the address is that in the nodes' network, or else one of their IP family.
func TestResolve(t *testing.T) {
	t.Parallel()
	for servers, want := range map[string]string{
		"192.168.20.1":              "192.168.20.1",
		"site/pihole":               "192.168.20.5",
		"site/pihole, 192.168.20.1": "192.168.20.5 192.168.20.1",
		"10.0.0.9, site/far":        "10.0.0.9 10.0.0.6",
	} {
		t.Run(servers, func(t *testing.T) {
			t.Parallel()
			root, inv := projectWith(t, servers)
			require.NoError(t, otherstacks.Resolve(inv, filepath.Join(root, "stacks")))
			var found []string
			for _, address := range inv.Cluster.Network.NameserverAddresses() {
				found = append(found, address.String())
			}
			require.Equal(t, want, strings.Join(found, " "))
		})
	}
}

// TestWhatCannotBeNamed: each problem has its place in the cluster's file, and what to do.
func TestWhatCannotBeNamed(t *testing.T) {
	t.Parallel()
	const otherwise = "name a stack of systems, or write the address of the server"
	for servers, want := range map[string][]string{
		"nowhere/pihole": {"[0]: names a stack that the project does not have (a stack has a file Pulumi.STACK.yaml beside Pulumi.yaml; got nowhere): " + otherwise},
		"sites/pihole":   {"[0]: names a stack that the project does not have (a stack has a file Pulumi.STACK.yaml beside Pulumi.yaml; got sites): did you mean site?"},
		"noStack/pihole": {"[0]: names a stack that the project does not have (a stack has a file Pulumi.STACK.yaml beside Pulumi.yaml; got noStack): " + otherwise},
		"../pihole":      {"[0]: names a stack that the project does not have (a stack has a file Pulumi.STACK.yaml beside Pulumi.yaml; got ..): " + otherwise},
		"k8s/cp-1":       {"[0]: names a stack that has no systems (there is no ROOT/stacks/k8s/systems.yaml; got k8s): " + otherwise},
		"other/cp-1":     {"[0]: names a stack that has no systems (there is no ROOT/elsewhere/other/systems.yaml; got other): " + otherwise},
		"bare/pihole":    {"[0]: names a stack that has no systems (there is no ROOT/stacks/bare/systems.yaml; got bare): " + otherwise},
		"broken/pihole":  {"[0]: names a stack whose inventory is not valid (got broken): see `em-infra validate --stack broken`"},
		"site/pihol":     {"[0]: names a system that stack site does not have (got site/pihol): did you mean site/pihole?"},
		"site/bastion":   {"[0]: names a system that stack site does not have (got site/bastion): name one of its systems, or write the address of the server"},
		"site/guest": {"[0]: names a system without a static address (the nodes know a server by an address that stays; got site/guest): " +
			"write the address of the server here, or give the system a static one in the systems.yaml of stack site"},
		"site/six": {"[0]: names a system without an address of an IP family that the nodes have (network.cidr is 192.168.20.0/24; got site/six): " +
			"give it one in the systems.yaml of stack site, or name another server"},
		"192.168.20.5, site/pihole": {"[1]: is given twice (got 192.168.20.5): remove one of them"},
		"site/pihole, 192.168.20.5": {"[1]: is given twice (got 192.168.20.5): remove one of them"},
		"site/a, site/pihole, site/b": {
			"[0]: names a system that stack site does not have (got site/a): name one of its systems, or write the address of the server",
			"[2]: names a system that stack site does not have (got site/b): name one of its systems, or write the address of the server",
		},
	} {
		t.Run(servers, func(t *testing.T) {
			t.Parallel()
			root, inv := projectWith(t, servers)
			err := otherstacks.Resolve(inv, root)
			require.ErrorAs(t, err, new(*inventory.Problems))
			lines := strings.Split(strings.ReplaceAll(err.Error(), filepath.ToSlash(root), "ROOT"), "\n")
			for at, line := range want {
				require.Equal(t, "stacks/k8s/cluster.yaml:9: network.nameservers"+line, lines[at])
			}
			require.Len(t, lines, len(want)+1)
		})
	}
}

// TestWithoutAProject: without a project no system can be named. The project is not searched for if no system is named.
func TestWithoutAProject(t *testing.T) {
	t.Parallel()
	_, inv := projectWith(t, "site/pihole")
	require.ErrorContains(t, otherstacks.Resolve(inv, t.TempDir()), "no Pulumi.yaml of project em-infra here or in a folder above")
	_, inv = projectWith(t, "192.168.20.1")
	require.NoError(t, otherstacks.Resolve(inv, t.TempDir()))
}

// TestTheAddressMovesWithTheNetwork: in a rehearsal, the address of a system moves with the network. The effective inventory shows the address, and
// is read again as the same file.
func TestTheAddressMovesWithTheNetwork(t *testing.T) {
	t.Parallel()
	root, inv := projectWith(t, "site/pihole")
	require.NoError(t, otherstacks.Resolve(inv, root))
	effective, err := inv.Effective()
	require.NoError(t, err)
	require.Contains(t, string(effective.Cluster), "  nameservers: [site/pihole] # site/pihole is 192.168.20.5\n")
	again, err := inventory.Parse("again", effective.Cluster, effective.Nodes)
	require.NoError(t, err)
	require.Equal(t, []inventory.Nameserver{{Stack: "site", System: "pihole"}}, again.Cluster.Network.Nameservers)
	moved, err := inv.Rebase(netip.MustParsePrefix("127.20.20.0/24"))
	require.NoError(t, err)
	require.Equal(t, "127.20.20.5", moved.Cluster.Network.Nameservers[0].Address.String())
	require.Equal(t, "192.168.20.5", inv.Cluster.Network.Nameservers[0].Address.String())
}
