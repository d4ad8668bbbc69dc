package graph_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/graph"
)

func system(name, host string, kind graph.SystemKind, vmid int, status string) graph.System {
	return graph.System{
		Name: name, Host: host, Kind: kind, VMID: vmid, Source: "debian-13", Cards: []string{fmt.Sprintf("192.168.20.%d/24 on vmbr0", vmid-190)},
		Cores: 1, MemoryMiB: 512, DiskGiB: 8, Status: status,
	}
}

func beside(running, stopped string) graph.Systems {
	second := system("dns-2", "pve2", graph.Container, 214, stopped)
	second.Cards = append(second.Cards, "dhcp on vmbr1, VLAN 30")
	return graph.Systems{Name: "beside", About: "2 virtual machines · 2 containers", Systems: []graph.System{
		system("tools", "pve1", graph.VirtualMachine, 210, running), system("build", "pve2", graph.VirtualMachine, 211, stopped),
		system("dns-1", "pve1", graph.Container, 213, running), second,
	}}
}

func below() graph.Hosts {
	local, nas := graph.Thing{Name: "local", Facts: []string{"dir", "/var/lib/vz", "iso, vztmpl"}}, graph.Thing{Name: "nas", Facts: []string{"nfs", "10.30.0.5:/mnt/tank/proxmox", "images"}}
	return graph.Hosts{
		Name: "below", About: "2 hosts · 2 storages · 1 mapping", Elsewhere: []graph.Thing{nas},
		Hosts: []graph.EquippedHost{
			{
				Name: "pve1", Network: []graph.Thing{{Name: "vmbr1", Facts: []string{"ports eno2", "VLAN 30 · 10.30.0.10/24"}}, {Name: "eno3", Facts: []string{"VLAN 7"}}},
				Storages: []graph.Thing{local, nas}, Devices: []graph.Thing{{Name: "rtx3090", Facts: []string{"PCI 0000:01:00.0 (10de:2204)", "PCI 0000:02:00.0 (10de:2204)"}}, {Name: "zwave", Facts: []string{"USB 0658:0200 at any port"}}},
			},
			{Name: "pve2", Storages: []graph.Thing{nas}},
		},
	}
}

// sites are the pictures that are not of one cluster alone.
func sites() map[string]graph.Drawn {
	base := clusters()
	prod, dev := base["three-hosts"], base["single"]
	dev.Hosts = []graph.Host{{Name: "pve1", Nodes: dev.Hosts[0].Nodes}}
	dev.NAS = &graph.NAS{Name: "nas.example", Pool: "tank", Things: []graph.Thing{
		{Name: "k8s/nfs", Facts: []string{"quota 500 GiB", "NFS", "to 192.168.20.0/24"}}, {Name: "iSCSI", Facts: []string{"listens on 0.0.0.0"}},
	}}
	prod.NAS = &graph.NAS{Name: "nas.example", Pool: "tank", Things: []graph.Thing{{Name: "prod"}}}
	nowhere, far := base["alone"], base["alone"]
	nowhere.Name, far.Name = "nowhere", "far"
	nowhere.Hosts = []graph.Host{{Name: "pve3", Nodes: nowhere.Hosts[0].Nodes}, {Name: "unknown", Nodes: nowhere.Hosts[0].Nodes}}
	far.Hosts = []graph.Host{{Name: "pve1", Nodes: far.Hosts[0].Nodes}}
	const here, there = "https://pve1:8006", "https://far:8006"
	asked := graph.Systems{Name: "asked"}
	for at, status := range []string{"running", "stopped", "absent"} {
		asked.Systems = append(asked.Systems, system("s-"+status, "pve1", graph.SystemKind(at%2), 210+at, status))
	}
	return map[string]graph.Drawn{
		"with-nas": dev, "systems": beside("", ""), "systems-asked": beside("running", "stopped"), "hosts": below(),
		"site": graph.Site{Stacks: []graph.Stack{
			{Name: "site-hosts", Endpoint: here, Drawn: below()}, {Name: "site-systems", Endpoint: here, Drawn: beside("", "")},
			{Name: "nowhere", Drawn: nowhere}, {Name: "dev", Endpoint: here, Drawn: dev},
			{Name: "prod", Endpoint: here, Drawn: prod}, {Name: "far", Endpoint: there, Drawn: far},
		}},
		"site-asked":    graph.Site{Stacks: []graph.Stack{{Name: "asked", Endpoint: here, Drawn: asked}}},
		"site-of-hosts": graph.Site{Stacks: []graph.Stack{{Name: "site-hosts", Endpoint: here, Drawn: below()}}},
		"crowded-site":  crowded(),
	}
}

// crowded is a site with more clusters than there are colours, and more cards than fit beside each other.
func crowded() graph.Site {
	site := graph.Site{}
	for at := range 6 {
		cluster := graph.Cluster{Name: fmt.Sprintf("c-%d", at), Hosts: []graph.Host{{Name: "vmhost"}}}
		for i := range 3 + at*5 {
			cluster.Hosts[0].Nodes = append(cluster.Hosts[0].Nodes, node(fmt.Sprintf("c-%d-w-%d", at, i), graph.Worker, 100+at*30+i, graph.Healthy))
		}
		site.Stacks = append(site.Stacks, graph.Stack{Name: cluster.Name, Drawn: cluster})
	}
	hosts := graph.Hosts{Name: "hosts", Hosts: []graph.EquippedHost{{Name: "vmhost"}}}
	for i := range 10 {
		hosts.Hosts[0].Network = append(hosts.Hosts[0].Network, graph.Thing{Name: fmt.Sprintf("vmbr%d", i), Facts: []string{"no ports · VLAN-aware"}})
	}
	site.Stacks = append(site.Stacks, graph.Stack{Name: "hosts", Drawn: hosts})
	return site
}

// labels returns the texts of a picture that name what belongs together, in their order.
func labels(t *testing.T, drawn graph.Drawn) []string {
	t.Helper()
	var found []string
	for _, s := range shapes(t, graph.SVG(drawn)) {
		if s.element == "text" && regexp.MustCompile(`^(Proxmox VE|Storage|host|NAS|cluster|systems|storages)\b`).MatchString(s.text) {
			found = append(found, s.text)
		}
	}
	return found
}

// TestWhereAStackIsDrawn: hosts of the same name are the same only at the same endpoint, a stack without one is on the first host of that name,
// and a storage of all hosts is also drawn on one that the stack of hosts does not name.
func TestWhereAStackIsDrawn(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"Proxmox VE https://pve1:8006",
		"host pve1", "systems · site-systems", "cluster k3s-dev · dev", `cluster <"three" & more> · prod`, "storages · site-hosts",
		"host pve2", "systems · site-systems", `cluster <"three" & more> · prod`, "storages · site-hosts",
		"host pve3", `cluster <"three" & more> · prod`, "cluster nowhere", "storages · site-hosts",
		"Proxmox VE https://far:8006", "host pve1", "cluster far",
		"Proxmox VE", "host unknown", "cluster nowhere",
		"Storage", "NAS nas.example", "cluster k3s-dev · dev · pool tank", `cluster <"three" & more> · prod · pool tank`,
		"cluster nowhere", "cluster k3s-dev · dev", `cluster <"three" & more> · prod`, "cluster far",
	}, labels(t, sites()["site"]))
}

// TestASystemThatRunsIsMarked: with the status of its host, and only then.
func TestASystemThatRunsIsMarked(t *testing.T) {
	t.Parallel()
	marked := regexp.MustCompile(`<title>(.*)</title>\n<rect class="card".*\n.*\n<circle class="([a-z]+)"`)
	require.Empty(t, marked.FindAllStringSubmatch(string(graph.SVG(sites()["systems"])), -1))
	var found []string
	for _, one := range marked.FindAllStringSubmatch(string(graph.SVG(sites()["site-asked"])), -1) {
		found = append(found, one[1]+": "+one[2])
	}
	require.Equal(t, []string{
		"s-running: virtual machine, running: healthy", "s-stopped: container, stopped: unhealthy", "s-absent: virtual machine, absent: unhealthy",
	}, found)
}
