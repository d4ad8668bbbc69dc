package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// systemsYAML describes systems on the hosts one and two.
var systemsYAML = strings.ReplaceAll(`apiVersion: em-infra/v1alpha1
kind: Systems
name: home
proxmox: {host: one, diskStorage: tank}
images:
  - {name: debian, url: "https://images.example/debian.qcow2", checksum: "sha256:SUM", vmid: 9100}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:SUM", osType: debian}
virtualMachines:
  - {name: tools, vmid: 210, image: debian, memoryMiB: 131072, dataDisks: [{sizeGiB: 2048, storage: slow}], networks: [{address: dhcp}, {address: dhcp, bridge: vmbr1}]}
containers:
  - {name: pihole, vmid: 211, host: two, template: debian, diskStorage: local, networks: [{address: dhcp}]}
`, "SUM", strings.Repeat("ab", 32))

func writeSystems(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), []byte(text), 0o600))
}

// TestASiteOfSystems checks that the site has every host, storage and bridge that the systems name, and that no host
// has those of another one.
func TestASiteOfSystems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSystems(t, dir, systemsYAML)
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	site, err := lab.SiteOf(lab.Stacks{Systems: []*systems.Inventory{inv}})
	require.NoError(t, err)
	require.Equal(t, "one", site.Host)
	require.Len(t, site.Hosts, 2)

	one, two := site.Hosts[0], site.Hosts[1]
	require.Equal(t, []string{"vmbr0", "vmbr1"}, bridgesOf(one))
	require.Equal(t, []string{"vmbr0"}, bridgesOf(two))
	require.Greater(t, one.MemoryMiB, 131072)
	files := []string{storage.ISO, storage.Template, storage.Import}
	disks := []string{storage.Images, storage.RootDir}
	require.Equal(t, map[string][]string{"local": files, "slow": disks, "tank": disks}, contentsOf(one))
	require.Equal(t, map[string][]string{"local": append(files, disks...), "tank": disks}, contentsOf(two))
	for _, one := range one.Storages {
		require.Greater(t, one.TotalBytes, uint64(2048+8)<<30)
	}
}

func bridgesOf(host proxmox.Host) (names []string) {
	for _, bridge := range host.Bridges {
		names = append(names, bridge.Name)
	}
	return names
}

func contentsOf(host proxmox.Host) map[string][]string {
	contents := map[string][]string{}
	for _, one := range host.Storages {
		contents[one.Name] = one.Content
	}
	return contents
}

// TestFilesOfSystemsAreStoodInFor: a rehearsal downloads none of the files that a host would download.
func TestFilesOfSystemsAreStoodInFor(t *testing.T) {
	t.Parallel()
	inv, err := systems.Load(filepath.Join("..", "inventory", "systems", "testdata", "valid-appliances"))
	require.NoError(t, err)
	site, err := lab.SiteOf(lab.Stacks{Systems: []*systems.Inventory{inv}})
	require.NoError(t, err)
	standIn, is := lab.StandIns(site)("https://images.example/OPNsense-25.1-dvd-amd64.iso.bz2")
	require.True(t, is)
	require.Equal(t, proxmox.StandIn{Bytes: 900 << 20, Algorithm: "sha256", Checksum: strings.Repeat("ab", 32)}, standIn)
	_, is = lab.StandIns(site)("https://images.example/other.iso")
	require.False(t, is)
}

// TestEditsOfSystems: a lab has the hosts, bridges and storages that an edit adds, and stands in for its files.
func TestEditsOfSystems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSystems(t, dir, systemsYAML)
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	site, err := lab.SiteOf(lab.Stacks{Systems: []*systems.Inventory{inv}})
	require.NoError(t, err)
	described := lab.DescribedBy(site)
	require.Len(t, described(), 2)
	require.Nil(t, described(), "nothing was written since")

	edited := strings.NewReplacer("debian.qcow2", "debian-13.qcow2", "host: two", "host: three").Replace(systemsYAML)
	writeSystems(t, dir, edited)
	hosts := described()
	require.Len(t, hosts, 2)
	require.Equal(t, "three", hosts[1].Name)
	_, is := lab.StandIns(site)("https://images.example/debian-13.qcow2")
	require.True(t, is)

	writeSystems(t, dir, edited+"half: {")
	require.Nil(t, described(), "it is being written")
	_, is = lab.StandIns(site)("https://images.example/debian.qcow2")
	require.True(t, is, "as at the start")
}
