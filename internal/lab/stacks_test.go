package lab_test

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
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
func projectOf(t *testing.T, hosts, standalone string, clusters ...[2]string) lab.Stacks {
	t.Helper()
	var dirs []string
	add := func(files map[string]string) { dirs = append(dirs, written(t, files)) }
	if hosts != "" {
		add(map[string]string{"hosts.yaml": hosts})
	}
	if standalone != "" {
		add(map[string]string{"systems.yaml": strings.ReplaceAll(standalone, "SUM", strings.Repeat("ab", 32))})
	}
	for _, cluster := range clusters {
		add(map[string]string{"cluster.yaml": cluster[0], "nodes.yaml": cluster[1]})
	}
	p, err := lab.LoadStacks(dirs...)
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

// TestASiteOfAProject checks that the site has what the stacks name, except for what the stack of hosts creates.
func TestASiteOfAProject(t *testing.T) {
	t.Parallel()
	site, err := lab.SiteOf(projectOf(t, projectHosts, projectSystems, dev(), prod()))
	require.NoError(t, err)
	require.Equal(t, "vmhost", site.Host)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("192.168.217.0/24"), netip.MustParsePrefix("192.168.219.0/24")}, site.Networks)
	require.Len(t, site.Hosts, 2)

	shared, other := site.Hosts[0], site.Hosts[1]
	require.Equal(t, "pve1", other.Name)
	require.Equal(t, map[string][]string{"files": {storage.ISO}, "tank": {storage.Images}}, contentsOf(other))
	require.Equal(t, []string{"vmbr0"}, bridgesOf(shared), "vmbr1 is for the stack of hosts to make")
	require.True(t, shared.Bridges[0].VLANAware, "the stack of hosts does not describe vmbr0, so it is as the cluster needs it")
	require.True(t, shared.Bridges[0].Address.IsValid(), "its API is reached there")
	require.Equal(t, map[string][]string{
		"local": {storage.ISO}, "local-lvm": {storage.Images, storage.RootDir}, "files": {storage.ISO},
	}, contentsOf(shared), "as installed, with what the others need and the stack of hosts does not describe")
	require.Equal(t, 3*64<<10, shared.MemoryMiB, "room for all")
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
	site, err := lab.SiteOf(projectOf(t, "", projectSystems, dev()))
	require.NoError(t, err)
	require.Equal(t, []string{"vmbr0", "vmbr1"}, bridgesOf(site.Hosts[0]))
	require.Contains(t, contentsOf(site.Hosts[0]), "tank")

	site, err = lab.SiteOf(projectOf(t, "", projectSystems))
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")}, site.Networks)

	_, err = lab.SiteOf(lab.Stacks{})
	require.EqualError(t, err, "no stack names a host: name one in the inventory of a stack")
}

// TestAStorageHasOneType checks that a storage has one type on all hosts, because it has one definition in the whole Proxmox VE.
func TestAStorageHasOneType(t *testing.T) {
	t.Parallel()
	onInstalled := strings.Replace(prod()[0], "diskStorage: tank", "diskStorage: local-lvm", 1)
	for name, test := range map[string]struct {
		stacks lab.Stacks
		want   map[string]storage.Type
	}{
		"of a host as installed": {
			projectOf(t, strings.Replace(projectHosts, "  - {name: tank, type: zfspool, zfsPool: tank, content: [images]}\n", "", 1), "", [2]string{onInstalled, prod()[1]}),
			map[string]storage.Type{"local-lvm": storage.LVMThin},
		},
		"of the first that needs it": {
			projectOf(t, "", strings.Replace(projectSystems, "local-lvm", "tank", 1), [2]string{strings.ReplaceAll(prod()[0], "perHost: {vmhost: 9002}", ""), strings.ReplaceAll(prod()[1], ", host: vmhost", "")}),
			map[string]storage.Type{"tank": storage.ZFSPool},
		},
		"of a shared one": {
			projectOf(t, "", "", [2]string{strings.Replace(dev()[0], "isoStorage: local", "isoStorage: files", 1), dev()[1]},
				[2]string{strings.Replace(prod()[0], "perHost: {vmhost: 9002}", "shared: true", 1), prod()[1]}),
			map[string]storage.Type{"files": storage.NFS, "tank": storage.RBD},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, err := lab.SiteOf(test.stacks)
			require.NoError(t, err)
			require.Len(t, site.Hosts, 2)
			require.NoError(t, hardware.Validate(site.Hosts))
			for _, host := range site.Hosts {
				for _, one := range host.Storages {
					if want, is := test.want[one.Name]; is {
						require.Equal(t, want, one.Type, "%s on %s", one.Name, host.Name)
					}
				}
			}
		})
	}
}

// TestTheNASOfASiteNamesTargetsAsTheInventorySays also checks that two stacks with different names are refused.
func TestTheNASOfASiteNamesTargetsAsTheInventorySays(t *testing.T) {
	t.Parallel()
	with := func(cluster [2]string, protocol, base string) [2]string {
		return [2]string{strings.Replace(cluster[0], "talos: {", "talos: {schematic: {extensions: [siderolabs/iscsi-tools]}, ", 1) +
			"storage: {endpoint: \"https://nas.example\", pool: tank, datasets: [{name: k8s}], iscsi: {}}\n" +
			"addons: {truenas: {host: nas.example, csi: {iqnBase: " + base + ", storageClasses: [{name: volumes, protocol: " + protocol + "}]}}}\n", cluster[1]}
	}
	const mine, other = "iqn.2024-01.com.example", "iqn.2000-01.io.truenas"
	for _, second := range [][2]string{with(prod(), "iscsi", mine), with(prod(), "nfs", other)} {
		site, err := lab.SiteOf(projectOf(t, "", "", with(dev(), "iscsi", mine), second))
		require.NoError(t, err)
		require.Equal(t, mine, site.NAS.ISCSIBase)
	}
	_, err := lab.SiteOf(projectOf(t, "", "", with(dev(), "iscsi", mine), with(prod(), "iscsi", other)))
	require.EqualError(t, err, "two stacks have different addons.truenas.csi.iqnBase, but a lab has one NAS: write the same one, or rehearse each of them alone, with `em-infra up --stack STACK --lab`")
}

// TestASiteHasOneNAS checks that the NAS has the pools of all stacks, and only one account.
func TestASiteHasOneNAS(t *testing.T) {
	t.Parallel()
	with := func(cluster [2]string, user, pool string) [2]string {
		return [2]string{cluster[0] + "storage: {endpoint: \"https://nas.example\", username: " + user + ", pool: " + pool + ", datasets: [{name: k8s}]}\n", cluster[1]}
	}
	site, err := lab.SiteOf(projectOf(t, "", "", with(dev(), "em-infra", "tank"), with(prod(), "em-infra", "fast")))
	require.NoError(t, err)
	require.Equal(t, &lab.NAS{User: "em-infra", Pools: []string{"fast", "tank"}}, site.NAS)

	_, err = lab.SiteOf(projectOf(t, "", "", with(dev(), "em-infra", "tank"), with(prod(), "other", "tank")))
	require.EqualError(t, err, "two stacks have different storage.username, but a lab has one NAS with one account: write the same one, or rehearse each of them alone, with `em-infra up --stack STACK --lab`")
}

// TestNetworksOfASharedLab: each cluster has its own network and keeps it. A cluster that is added gets one when the lab is started again, even
// if its addresses look alike.
func TestNetworksOfASharedLab(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	serve := func(s lab.Stacks) lab.Description {
		site, err := lab.SiteOf(s)
		require.NoError(t, err)
		site.Shared = true
		o := options(t, dir, parse(t, clusterYAML, nodesYAML))
		o.Site = site
		return served(t, o)
	}
	of := func(d lab.Description, own string) netip.Prefix {
		network, err := d.NetworkOf(netip.MustParsePrefix(own))
		require.NoError(t, err)
		return network
	}
	without := serve(projectOf(t, projectHosts, ""))
	require.Len(t, without.Networks(), 1, "a lab has some network")

	first := serve(projectOf(t, projectHosts, "", dev()))
	network := of(first, "192.168.217.0/24")
	require.Equal(t, []netip.Prefix{network}, first.Networks())
	require.Equal(t, byte(217), network.Addr().As4()[2])
	_, err := first.NetworkOf(netip.MustParsePrefix("192.168.219.0/24"))
	require.EqualError(t, err, "the lab was started before the network 192.168.219.0/24 was in the inventory")

	elsewhere := [2]string{strings.ReplaceAll(prod()[0], "192.168.219.", "10.0.217."), strings.ReplaceAll(prod()[1], "192.168.219.", "10.0.217.")}
	both := serve(projectOf(t, "", "", dev(), elsewhere))
	require.Equal(t, network, of(both, "192.168.217.0/24"), "its machines have addresses there")
	require.False(t, network.Overlaps(of(both, "10.0.217.0/24")))

	moved := serve(projectOf(t, "", "", prod()))
	require.Equal(t, byte(219), of(moved, "192.168.219.0/24").Addr().As4()[2])
	require.Equal(t, network, of(moved, "192.168.217.0/24"), "a stack that has left may come back")
}

// TestReservationsOfTheOtherClusters checks that they are found while the inventory of one cluster is being written.
func TestReservationsOfTheOtherClusters(t *testing.T) {
	t.Parallel()
	byDHCP := func(cluster [2]string) string {
		return written(t, map[string]string{"cluster.yaml": strings.Replace(cluster[0], "bridge: vmbr0}", "bridge: vmbr0, addressing: dhcp}", 1), "nodes.yaml": cluster[1]})
	}
	first, second := byDHCP(dev()), byDHCP(prod())
	d := described(t)
	d.Clusters = []lab.ClusterNetwork{
		{Own: netip.MustParsePrefix("192.168.217.0/24"), Lab: netip.MustParsePrefix("127.30.217.0/24")},
		{Own: netip.MustParsePrefix("192.168.219.0/24"), Lab: netip.MustParsePrefix("127.31.219.0/24")},
	}
	inv, err := inventory.Load(second)
	require.NoError(t, err)
	macs := []net.HardwareAddr{inv.Nodes[0].MAC[:]}
	leases, err := lab.Leases(d, macs, first, second)
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("127.31.219.11/24")}, leases)

	require.NoError(t, os.WriteFile(filepath.Join(first, "nodes.yaml"), []byte("half: ["), 0o600))
	leases, err = lab.Leases(d, macs, first, second)
	require.ErrorContains(t, err, "reservations of the inventory: "+filepath.Join(first, "nodes.yaml"))
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("127.31.219.11/24")}, leases)
}

// TestAFileOfAnyStackIsFollowed: a host itself has what a stack of hosts no longer describes.
func TestAFileOfAnyStackIsFollowed(t *testing.T) {
	t.Parallel()
	hosts := written(t, map[string]string{"hosts.yaml": projectHosts})
	cluster := written(t, map[string]string{"cluster.yaml": dev()[0], "nodes.yaml": dev()[1]})
	stacks, err := lab.LoadStacks(hosts, cluster)
	require.NoError(t, err)
	site, err := lab.SiteOf(stacks)
	require.NoError(t, err)
	described := lab.DescribedBy(site)
	require.NotContains(t, contentsOf(described()[0]), "tank")
	require.Nil(t, described(), "nothing was written since")
	without := strings.Replace(projectHosts, "  - {name: tank, type: zfspool, zfsPool: tank, content: [images]}\n", "", 1)
	require.NoError(t, os.WriteFile(filepath.Join(hosts, "hosts.yaml"), []byte(without), 0o600))
	require.Contains(t, contentsOf(described()[0]), "tank")
}

// TestHowAllRehearsalsBeginAnew: the states of stacks that share a lab lie beside its folder.
func TestHowAllRehearsalsBeginAnew(t *testing.T) {
	t.Parallel()
	labs := filepath.Join(t.TempDir(), ".lab")
	dir := filepath.Join(labs, "_vmhost-8006")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.json"), nil, 0o600))
	_, err := lab.ReadDescription(dir)
	require.EqualError(t, err, dir+"/lab.json is damaged: delete "+labs+" to begin all rehearsals anew")
}

// written returns a folder with these files.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// served runs a lab until it listens, and returns its description.
func served(t *testing.T, o lab.Options) lab.Description {
	t.Helper()
	serveOnce(t, o)
	d, err := lab.ReadDescription(o.Dir)
	require.NoError(t, err)
	return d
}
