package lab_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

const (
	projectHosts = `apiVersion: em-infra/v1alpha1
kind: Hosts
name: site
hosts: [{name: vmhost, network: {bridges: [{name: vmbr1, ports: [eno2]}]}}]
storages:
  - {name: local, type: dir, path: /var/lib/vz, content: [iso, vztmpl, import]}
  - {name: tank, type: zfspool, zfsPool: tank, content: [images]}
mappings: [{name: rtx3090, devices: [{host: vmhost, bdf: "0000:0a:00.0", deviceId: "10de:2204", subsystemId: "1458:403b", iommuGroup: 12}]}]
`
	projectSystems = `apiVersion: em-infra/v1alpha1
kind: Systems
name: systems
proxmox: {host: vmhost, diskStorage: local-lvm}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:SUM", osType: debian}
containers:
  - {name: pihole, vmid: 211, template: debian, networks: [{address: dhcp}]}
`
)

// projectOf writes and loads the inventories of a project, each in a folder of its own; an empty one is left out.
func projectOf(t *testing.T, hosts, standalone string, clusters ...[2]string) lab.Project {
	t.Helper()
	var dirs []string
	add := func(files map[string]string) {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		dirs = append(dirs, dir)
	}
	if hosts != "" {
		add(map[string]string{"hosts.yaml": hosts})
	}
	if standalone != "" {
		add(map[string]string{"systems.yaml": strings.ReplaceAll(standalone, "SUM", strings.Repeat("ab", 32))})
	}
	for _, cluster := range clusters {
		add(map[string]string{"cluster.yaml": cluster[0], "nodes.yaml": cluster[1]})
	}
	p, err := lab.LoadProject(dirs...)
	require.NoError(t, err)
	return p
}

// dev is a cluster with a GPU worker on vmhost, whose second card is on vmbr1.
func dev() [2]string {
	return [2]string{clusterYAML, nodesYAML + `  - {name: k3s-dev-gpu-1, role: gpu-worker, vmid: 103, address: 192.168.217.31, gpus: [{mapping: rtx3090}], networks: [{bridge: vmbr1}]}` + "\n"}
}

// prod is a cluster in another network, with a host of its own and one that it shares.
func prod() [2]string {
	cluster := strings.NewReplacer("k3s-dev", "prod", "192.168.217.", "192.168.219.", "9000}", "9001}", "host: vmhost", "host: pve1", "isoStorage: local", "isoStorage: files").Replace(clusterYAML)
	nodes := strings.NewReplacer("k3s-dev", "prod", "192.168.217.", "192.168.219.", "vmid: 10", "vmid: 30").Replace(nodesYAML)
	return [2]string{strings.Replace(cluster, "9001}", "9001, perHost: {vmhost: 9002}}", 1), strings.Replace(nodes, "address: 192.168.219.21", "address: 192.168.219.21, host: vmhost", 1)}
}

// TestASiteOfAProject has what the stacks name, but for what the stack of hosts is there to make.
func TestASiteOfAProject(t *testing.T) {
	t.Parallel()
	site, err := lab.SiteOfProject(projectOf(t, projectHosts, projectSystems, dev(), prod()))
	require.NoError(t, err)
	require.Equal(t, "vmhost", site.Host)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("192.168.217.0/24"), netip.MustParsePrefix("192.168.219.0/24")}, site.Networks)
	require.Len(t, site.Hosts, 2)

	shared, other := site.Hosts[0], site.Hosts[1]
	require.Equal(t, "pve1", other.Name)
	require.Equal(t, map[string][]string{"files": {storage.ISO}, "tank": {storage.Images}}, contentsOf(other))
	require.Equal(t, []string{"vmbr0"}, bridgesOf(shared), "vmbr1 is for the stack of hosts to make")
	require.True(t, shared.Bridges[0].VLANAware, "nobody else sets it")
	require.True(t, shared.Bridges[0].Address.IsValid(), "its API is reached there")
	require.Equal(t, map[string][]string{
		"local": {storage.ISO}, "local-lvm": {storage.Images, storage.RootDir}, "files": {storage.ISO},
	}, contentsOf(shared), "as installed, with what the others need and the stack of hosts does not describe")
	require.GreaterOrEqual(t, shared.MemoryMiB, 3*64<<10, "room for all")
	require.Equal(t, map[string]string{"0000:0a:00.0": ""}, gpusOf(shared), "the card is where hosts.yaml says, and not mapped yet")
}

func gpusOf(host proxmox.Host) map[string]string {
	found := map[string]string{}
	for _, device := range host.PCI {
		if device.Vendor == "0x10de" {
			found[device.Address] = device.Mapping
		}
	}
	return found
}

func TestASiteWithoutAStackOfHosts(t *testing.T) {
	t.Parallel()
	site, err := lab.SiteOfProject(projectOf(t, "", projectSystems, dev()))
	require.NoError(t, err)
	require.Equal(t, []string{"vmbr0", "vmbr1"}, bridgesOf(site.Hosts[0]))
	require.Contains(t, contentsOf(site.Hosts[0]), "tank")

	site, err = lab.SiteOfProject(projectOf(t, "", projectSystems))
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")}, site.Networks)

	_, err = lab.SiteOfProject(lab.Project{})
	require.EqualError(t, err, "the project has no stack: make one with `em-infra init`")
}

// TestTwoBoxesAreRefused: a site has one NAS, which several stacks may use.
func TestTwoBoxesAreRefused(t *testing.T) {
	t.Parallel()
	with := func(cluster [2]string, storage string) [2]string { return [2]string{cluster[0] + storage, cluster[1]} }
	box := "storage: {endpoint: \"https://nas.example\", username: em-infra, pool: tank, datasets: [{name: KEY}]}\n"
	own := func(key string) string { return strings.ReplaceAll(box, "KEY", key) }
	site, err := lab.SiteOfProject(projectOf(t, "", "", with(dev(), own("dev")), with(prod(), own("prod"))))
	require.NoError(t, err)
	require.Equal(t, &lab.NAS{User: "em-infra", Pool: "tank"}, site.NAS)

	_, err = lab.SiteOfProject(projectOf(t, "", "", with(dev(), own("dev")), with(prod(), strings.ReplaceAll(own("prod"), "pool: tank", "pool: fast"))))
	require.EqualError(t, err, "two stacks have different storage.username or storage.pool, but the lab has one NAS: rehearse one of them without the others, with `em-infra up --stack STACK --lab`")
}

// TestALabOfSeveralNetworks: each cluster has its own, and a cluster that is added gets one when the lab is started again.
func TestALabOfSeveralNetworks(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	serve := func(p lab.Project) lab.Description {
		site, err := lab.SiteOfProject(p)
		require.NoError(t, err)
		o := options(dir, parse(t, clusterYAML, nodesYAML))
		o.Site = site
		return served(t, o)
	}
	alone := serve(projectOf(t, "", "", dev()))
	require.Empty(t, alone.FurtherNetworks)
	for _, own := range []string{"192.168.217.0/24", "192.168.219.0/24"} {
		network, err := alone.NetworkOf(netip.MustParsePrefix(own))
		require.NoError(t, err)
		require.Equal(t, alone.Network, network, "a lab with one network has it for every cluster")
	}

	both := serve(projectOf(t, "", "", dev(), prod()))
	require.Equal(t, alone.Network, both.Network)
	network, err := both.NetworkOf(netip.MustParsePrefix("192.168.219.0/24"))
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{network}, both.FurtherNetworks)
	require.Equal(t, both.Network.Addr().As4()[1], network.Addr().As4()[1])
	require.Equal(t, byte(219), network.Addr().As4()[2])
	_, err = both.NetworkOf(netip.MustParsePrefix("192.168.220.0/24"))
	require.EqualError(t, err, "the lab was started before the network 192.168.220.0/24 was in the inventory")
}

func TestNetworksThatLookAlikeAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := [2]string{strings.ReplaceAll(prod()[0], "192.168.219.", "10.0.217."), strings.ReplaceAll(prod()[1], "192.168.219.", "10.0.217.")}
	site, err := lab.SiteOfProject(projectOf(t, "", "", dev(), elsewhere))
	require.NoError(t, err)
	o := options(labDir(t), parse(t, clusterYAML, nodesYAML))
	o.Site = site
	require.EqualError(t, lab.Serve(t.Context(), o), "the networks of two clusters would be the same in the lab, which changes the first two bytes of an address: rehearse one of their stacks without the others, with `em-infra up --stack STACK --lab`")
}

// served runs a lab until it listens, and returns its description.
func served(t *testing.T, o lab.Options) lab.Description {
	t.Helper()
	serveOnce(t, o)
	d, err := lab.ReadDescription(o.Dir)
	require.NoError(t, err)
	return d
}
