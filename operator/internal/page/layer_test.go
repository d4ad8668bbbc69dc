package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/page"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// hosts is the page of a stack of hosts, of which one is away and one is not as the inventory says.
func hosts() page.Page {
	report := layerReport()
	report.Hosts = []status.Host{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}
	report.State.LastUpdate = &status.Update{Kind: "update", Result: "succeeded", Ended: today}
	return page.Page{
		Stack: "site-hosts", Kind: manifest.Hosts, Written: today, Status: report,
		Picture: graph.SVG(graph.Hosts{Name: "site", Hosts: []graph.EquippedHost{{Name: "pve1", Network: []graph.Thing{{Name: "vmbr1", Facts: []string{"ports eno2"}}}}, {Name: "pve2"}}}),
		Drift:   &drift.Report{Host: []drift.Difference{{Subject: "storage nas", Property: "settings", Want: "as in the inventory", Have: "content: iso instead of images,iso"}}},
		Copies:  []page.Copy{{Kind: "state", Name: "2026-11-21T10-00-00-before-up", Taken: today, Place: "this machine"}},
		Runs: []artifacts.Past{run(2, "up", summary("up", 12,
			planned{name: "site-network-pve1", kind: typeCommand, phase: phase.Provision, after: 1, seconds: 4},
			planned{name: "site-storage-nas", kind: typeCommand, phase: phase.Provision, after: 5, seconds: 2, waitedFor: [2]string{"site-network-pve1", typeCommand}},
		))},
	}
}

// systems is the page of a rehearsed stack of systems with which nothing is wrong, and one of whose systems has moved.
func systems() page.Page {
	report := layerReport()
	report.Hosts = []status.Host{{Name: "pve1", Status: "online"}}
	report.Systems = []status.System{
		{Name: "tools", Type: status.VirtualMachine, VMID: 210, Host: "pve1", Status: "running", On: "pve2"},
		{Name: "pihole", Type: status.Container, VMID: 211, Host: "pve1", Status: "running"},
	}
	return page.Page{
		Stack: "site-systems", Kind: manifest.Systems, Written: today, Rehearsed: true,
		Picture: graph.SVG(graph.Systems{Name: "site", Systems: []graph.System{
			{Name: "pihole", Host: "pve1", Kind: graph.Container, VMID: 211, Source: "debian-13", Cores: 1, MemoryMiB: 512, DiskGiB: 8, Status: "running"},
		}}),
		Status: report, Drift: &drift.Report{},
		Runs: []artifacts.Past{run(2, "up", summary("up", 30,
			planned{name: "site-pool-dns", kind: typeCommand, phase: phase.Provision, after: 1, seconds: 1},
			planned{name: "site-template-debian-pve1", kind: typeCommand, phase: phase.Provision, after: 1, seconds: 10},
			planned{name: "site-pihole-ct", kind: "proxmoxve:CT/container:Container", phase: phase.Provision, after: 12, seconds: 8, waitedFor: [2]string{"site-template-debian-pve1", typeCommand}},
		))},
		Nodes: []string{"site-tools", "site-pihole"},
	}
}

// TestAPageOfALayer: it has no machines, no nodes and no cluster, and says what it has instead.
func TestAPageOfALayer(t *testing.T) {
	t.Parallel()
	unlike := []string{">Machines<", ">Cluster<", ">cluster ", "Talos", "Kubernetes", "bootstrap</li>", "the nodes"}
	for _, test := range []struct {
		page page.Page
		has  []string
	}{
		{hosts(), []string{">Hosts<", `<td data-label="Status" class="bad">offline</td>`, `<p class="chip bad">1 thing needs attention</p>`, "content: iso instead of images,iso", `<span class="name">stack <small>`}},
		{systems(), []string{">Systems<", "VM 210 running on pve2", "Nothing: the systems are as the inventory says.", `<span class="name">site-pihole <small>`, `<span class="name">stack <small>`, `<span class="name">templates <small>`}},
	} {
		written, err := test.page.HTML(nil)
		require.NoError(t, err)
		_, body, _ := strings.Cut(string(written), "<body>")
		for _, text := range test.has {
			require.Contains(t, body, text, test.page.Stack)
		}
		for _, text := range unlike {
			require.NotContains(t, body, text, test.page.Stack)
		}
	}
}

// TestLayersThatAreAsTheirInventoriesSay: each kind says what was compared.
func TestLayersThatAreAsTheirInventoriesSay(t *testing.T) {
	t.Parallel()
	of := hosts()
	of.Drift = &drift.Report{}
	written, err := of.HTML(nil)
	require.NoError(t, err)
	require.Contains(t, string(written), "<p>Nothing: the hosts are as the inventory says.</p>")
}
