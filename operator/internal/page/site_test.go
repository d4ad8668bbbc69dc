package page_test

import (
	"crypto/rand"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/page"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// layerReport is the status of a stack that is no platform.
func layerReport() *status.Report {
	r := status.Report{Time: today, Machines: []status.Machine{}}
	r.State.Resources = 12
	return &r
}

// sitePicture is the picture of a site with a cluster and a system.
func sitePicture() []byte {
	node := graph.Node{Name: "k3s-dev-control-1", VMID: 101, Cores: 4, MemoryMiB: 8192, DiskGiB: 64, Health: graph.Healthy}
	return graph.SVG(graph.Site{Stacks: []graph.Stack{
		{Name: "site-hosts", Endpoint: "https://pve1:8006", Drawn: graph.Hosts{Name: "site", Hosts: []graph.EquippedHost{{Name: "pve1", Network: []graph.Thing{{Name: "vmbr1", Facts: []string{"ports eno2"}}}}}}},
		{Name: "site-systems", Endpoint: "https://pve1:8006", Drawn: graph.Systems{Name: "systems", Systems: []graph.System{
			{Name: "pihole", Host: "pve1", Kind: graph.Container, VMID: 211, Source: "debian-13", Cores: 1, MemoryMiB: 512, DiskGiB: 8, Status: "stopped"},
		}}},
		{Name: "k3s-dev", Endpoint: "https://pve1:8006", Drawn: graph.Cluster{Name: "k3s-dev", Hosts: []graph.Host{{Name: "pve1", Nodes: []graph.Node{node}}}}},
	}})
}

// wholeSite is a site with every status that a stack can have.
func wholeSite() page.Site {
	hosts, systems, away := layerReport(), layerReport(), layerReport()
	hosts.Hosts = []status.Host{{Name: "pve1", Status: "online"}}
	hosts.State.LastUpdate = &status.Update{Kind: "update", Result: "succeeded", Ended: today}
	systems.Systems = []status.System{{Name: "pihole", Type: status.Container, VMID: 211, Host: "pve1", Status: "stopped"}}
	unread := away.WithUnread(fmt.Errorf("the hosts: https://pve9:8006: %w", pve.ErrSilent))
	away = &unread
	up, killed := run(2, "up", birth()), run(4, "destroy", nil)
	return page.Site{
		Written: today, Picture: sitePicture(), Stacks: []page.SiteStack{
			{Stack: "site-hosts", Kind: manifest.Hosts, Layer: 1, Status: hosts},
			{Stack: "far-hosts", Kind: manifest.Hosts, Layer: 1, Status: away, Last: &killed},
			{Stack: "site-systems", Kind: manifest.Systems, Layer: 2, Status: systems},
			{Stack: "k3s-dev", Kind: manifest.Platform, Layer: 3, Status: reported(), Last: &up},
			{Stack: "k8s-prod", Kind: manifest.Platform, Layer: 3, Refused: true, Problem: "there is no state of stack k8s-prod: nothing was ever brought up; `em-infra up --stack k8s-prod` does that"},
			{Stack: "k8s-test", Kind: manifest.Platform, Layer: 3, Problem: "the engine failed:\nno space left on device: make room"},
		},
	}
}

// soundSite is a rehearsed site with which nothing is wrong.
func soundSite() page.Site {
	s := wholeSite()
	s.Stacks, s.Rehearsed = s.Stacks[:1], true
	return s
}

// sites are the pages of sites by name.
func sites() map[string]page.Site {
	return map[string]page.Site{"site": wholeSite(), "sound-site": soundSite()}
}

func TestSites(t *testing.T) {
	t.Parallel()
	for name, of := range sites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written, err := of.HTML(nil)
			require.NoError(t, err)
			golden.Equal(t, filepath.Join("testdata", name+".html"), string(written))
		})
	}
}

// TestNoSecretIsOnThePageOfASite plants secrets in every text that the page shows, of stacks with and without a status.
func TestNoSecretIsOnThePageOfASite(t *testing.T) {
	t.Parallel()
	secrets := []string{rand.Text(), rand.Text() + `+/"'<&>=`, "-----BEGIN KEY-----\n" + rand.Text()}
	planted := " " + strings.Join(secrets, " ")
	s := wholeSite()
	s.Stacks[1].Status.Unread = []string{"the host said" + planted}
	s.Stacks[2].Status.Systems[0].Name = planted
	s.Stacks[4].Problem, s.Stacks[5].Stack = planted, planted

	shown, err := s.HTML(nil)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.GreaterOrEqual(t, strings.Count(html.UnescapeString(string(shown)), secret), 3, "without the gate it is there")
	}
	hidden, err := s.HTML(secrets)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.NotContains(t, string(hidden), secret)
		require.NotContains(t, html.UnescapeString(string(hidden)), secret)
	}
	require.Contains(t, string(hidden), "the host said [secret] [secret] [secret]")
}

// TestTextsOfASiteAreNoMarkup: what comes from elsewhere is shown as it is written.
func TestTextsOfASiteAreNoMarkup(t *testing.T) {
	t.Parallel()
	s := wholeSite()
	s.Stacks[0].Stack = `<img src=x onerror="alert(1)">`
	s.Stacks[4].Problem = "say `</code><b>` now"
	written, err := s.HTML(nil)
	require.NoError(t, err)
	require.NotContains(t, string(written), "<img")
	require.Contains(t, string(written), "say <code>&lt;/code&gt;&lt;b&gt;</code> now")
}
