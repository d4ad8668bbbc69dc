package hostfile_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/hostfile"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hosts.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestWithoutAFile checks the default: one host as the installer sets it up.
func TestWithoutAFile(t *testing.T) {
	t.Parallel()
	site, err := hostfile.Load("")
	require.NoError(t, err)
	require.Equal(t, "pve", site.Host)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")}, site.Networks)
	require.Equal(t, []proxmox.Host{{
		Name: "pve", Cores: 16, CPUModel: "AMD EPYC 4244P 6-Core Processor", MemoryMiB: 64 << 10,
		Storages: []proxmox.Storage{
			{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 96 << 30, Path: "/var/lib/vz"},
			{Name: "local-lvm", Type: storage.LVMThin, Content: []string{storage.Images}, TotalBytes: 1 << 40},
		},
		Bridges: []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true}},
	}}, site.Hosts)
}

func TestAFile(t *testing.T) {
	t.Parallel()
	site, err := hostfile.Load(written(t, `network: 10.1.2.3/24
hosts:
  - name: pve1
    cores: 8
    storages:
      - {name: nas, type: nfs, content: [iso, images], shared: true}
    pci:
      - {address: "0000:01:00.0", vendor: "0x10de", device: "0x2204", mapping: gpu}
  - {name: pve2, bridges: [vmbr0, vmbr1]}
`))
	require.NoError(t, err)
	require.Equal(t, "pve1", site.Host)
	require.Equal(t, netip.MustParsePrefix("10.1.2.0/24"), site.Networks[0])
	require.Len(t, site.Hosts, 2)
	require.Equal(t, []proxmox.Storage{{
		Name: "nas", Type: storage.NFS, Content: []string{"iso", "images"}, TotalBytes: 512 << 30, Shared: true, Path: "/mnt/pve/nas",
	}}, site.Hosts[0].Storages)
	require.Equal(t, "gpu", site.Hosts[0].PCI[0].Mapping)
	require.Len(t, site.Hosts[1].Storages, 2, "those of the installer")
	require.Len(t, site.Hosts[1].Bridges, 2)
}

// TestMistakes checks that all mistakes in a file are reported at once, with line and remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"hosts:\n  - {name: pve, core: 4}\n  - {cores: 0}\n": `FILE:2: hosts[0].core: no such key: did you mean cores?
FILE:3: hosts[1].name: is missing (it has no default): add it
FILE:3: hosts[1].cores: is out of range (1 to 8192; got 0): choose a number within`,
		"network: fd00::/64\nhosts: [{name: pve}]\n":                                                "FILE: network: is no network that machines can be moved from (IPv4, /16 or longer; got fd00::/64): write one such as 192.168.20.0/24",
		"hosts: [{name: a}, {name: a}]\n":                                                           "FILE: lab host: a stands twice",
		"hosts: [{name: a, storages: [{name: tape1, type: tape, content: [images]}]}]\n":            `FILE: lab host: a: storage tape1 has type "tape", which is not emulated`,
		"hosts: [{name: a, storages: [{name: thin, type: lvmthin, content: [iso], sizeGiB: 1}]}]\n": "FILE: lab host: a: storage thin of type lvmthin cannot hold ISO files",
	} {
		path := written(t, text)
		_, err := hostfile.Load(path)
		require.Error(t, err)
		require.Equal(t, message, strings.ReplaceAll(err.Error(), path, "FILE"))
	}
}
