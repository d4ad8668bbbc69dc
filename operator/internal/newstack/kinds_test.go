package newstack_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/canonical"
	"github.com/em-infra/em-infra/operator/internal/newstack"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// typed is a site whose storages have their types.
func typed(site newstack.Site) newstack.Site {
	for _, host := range site.Found.Hosts {
		for i, storage := range host.Storages.Value {
			host.Storages.Value[i].Type = map[string]string{"local": "dir", "local-lvm": "lvmthin", "nas": "nfs", "ceph": "rbd"}[storage.Name]
		}
	}
	return site
}

// maker is a stack that opens the installer's folder of the hosts for what systems put there.
func maker(names ...string) preflight.Maker {
	file := hosts.File{Storages: []hosts.Storage{{Name: "local", Content: []hosts.Content{hosts.ContentISO, hosts.ContentTemplate, hosts.ContentImport}}}}
	for _, name := range names {
		file.Hosts = append(file.Hosts, hosts.Host{Name: name})
	}
	return preflight.Maker{Place: "--stack hosts", Inventory: &hosts.Inventory{File: file}}
}

// cards are two GPUs of one model and one whose name is not known, none of them mapped.
func cards(h *preflight.Host) {
	nameless := card("0000:03:00.0", 14)
	nameless.DeviceName, nameless.VendorName = "", ""
	h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12), card("0000:02:00.0", 13), nameless}
	h.Bridges.Value[0].CIDR, h.Bridges.Value[0].Gateway, h.Bridges.Value[0].Ports = "192.168.20.2/24", "192.168.20.1", "eno1"
}

// TestFilesOfOtherKindsAreGolden: a stack of hosts, and one of systems beside it.
func TestFilesOfOtherKindsAreGolden(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		site    func(*testing.T) newstack.Site
		answers newstack.Answers
	}{
		{
			"hosts-with-gpus", func(*testing.T) newstack.Site { return typed(changed(alone(), "pve", cards)) },
			newstack.Answers{Stack: "hosts", Kind: manifest.Hosts},
		},
		{"hosts-three", func(*testing.T) newstack.Site { return typed(three()) }, newstack.Answers{Stack: "hosts", Kind: manifest.Hosts, Hosts: []string{"pve1", "pve3"}}},
		{
			"systems-beside-hosts", func(*testing.T) newstack.Site {
				site := typed(changed(alone(), "pve", cards))
				site.Makers = preflight.Makers{maker("pve")}
				return site
			},
			newstack.Answers{Stack: "systems", Kind: manifest.Systems},
		},
		{
			"systems-where-much-is-taken", func(t *testing.T) newstack.Site {
				site := changed(typed(alone()), "pve", func(h *preflight.Host) { h.Storages.Value[0].Content = "iso,vztmpl,import" })
				site.Beside = []inventory.Beside{besideSystems(t, "pihole", "211", "192.168.30.10"), beside(t, "other", otherCluster, otherNodes)}
				return site
			},
			newstack.Answers{Stack: "home", Kind: manifest.Systems, VLAN: 30, Network: netip.MustParsePrefix("192.168.30.0/24")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			site := test.site(t)
			files, err := site.Files(test.answers, connection)
			require.NoError(t, err)
			dir := t.TempDir()
			for path, text := range files {
				formed, err := canonical.Form(text)
				require.NoError(t, err)
				require.Equal(t, string(formed), string(text))
				require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600))
				golden.Equal(t, filepath.Join("testdata", test.name, filepath.Base(path)), string(text))
			}
			if test.answers.Kind == manifest.Hosts {
				_, err = hosts.Load(dir)
				require.NoError(t, err)
				return
			}
			inv, err := systems.Load(dir)
			require.NoError(t, err)
			for _, other := range site.Beside {
				require.NoError(t, inventory.CheckBeside(inv, other))
			}
		})
	}
}

// TestSystemsOfTheSample: what init writes has the image and the template of the sample, whose checksums are true.
func TestSystemsOfTheSample(t *testing.T) {
	t.Parallel()
	sample, err := systems.Load(filepath.Join("..", "..", "..", "stacks", "site-systems"))
	require.NoError(t, err)
	site := typed(alone())
	site.Makers = preflight.Makers{maker("pve")}
	files, err := site.Files(newstack.Answers{Stack: "home", Kind: manifest.Systems, Network: netip.MustParsePrefix("192.168.20.0/24")}, connection)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), files["stacks/home/systems.yaml"], 0o600))
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	require.Equal(t, sample.File.Images[0].Source, inv.File.Images[0].Source)
	require.Equal(t, sample.File.ContainerTemplates[0].Source, inv.File.ContainerTemplates[0].Source)
}

// TestWhatASiteCannotGiveToOtherKinds: everything at once, each with what to do.
func TestWhatASiteCannotGiveToOtherKinds(t *testing.T) {
	t.Parallel()
	configured := typed(three())
	configured.Makers = preflight.Makers{maker("pve1")}
	for _, test := range []struct {
		name    string
		site    newstack.Site
		answers newstack.Answers
		want    string
	}{
		{"hosts of another stack", configured, newstack.Answers{Stack: "more", Kind: manifest.Hosts, Hosts: []string{"pve1", "pve2"}}, "host pve1 is configured by another stack already (--stack hosts): name others with --host"},
		{
			"two hosts for systems", configured, newstack.Answers{Stack: "home", Kind: manifest.Systems, Hosts: []string{"pve1", "pve2"}, Network: netip.MustParsePrefix("192.168.20.0/24")},
			"the systems that are proposed are on one host (got pve1, pve2): name one with --host, and write host: into the others of systems.yaml",
		},
		{
			"no room for images", typed(alone()), newstack.Answers{Stack: "home", Kind: manifest.Systems, Network: netip.MustParsePrefix("192.168.20.0/24")},
			"host pve has no active storage for content types vztmpl and import: write a stack of hosts first, with `em-infra init --kind hosts --stack hosts`, or as root on the host: `pvesm set local --content iso,vztmpl,import`",
		},
		{
			"no room for disks", changed(typed(alone()), "pve", func(h *preflight.Host) {
				h.Storages.Value[0].Content, h.Storages.Value[1].Active = "iso,vztmpl,import", false
			}), newstack.Answers{Stack: "home", Kind: manifest.Systems, Network: netip.MustParsePrefix("192.168.20.0/24")},
			"host pve has no active storage for content types images and rootdir that the token may see: as root on a host: `pvesm set local --content iso,vztmpl,import,images,rootdir`",
		},
		{
			"no room for containers alone", changed(typed(alone()), "pve", func(h *preflight.Host) {
				h.Storages.Value[0].Content, h.Storages.Value[1].Content = "iso,vztmpl,import,images", "images"
			}), newstack.Answers{Stack: "home", Kind: manifest.Systems, Network: netip.MustParsePrefix("192.168.20.0/24")},
			"host pve has no active storage for content types images and rootdir that the token may see: as root on a host: `pvesm set local --content iso,vztmpl,import,images,rootdir`",
		},
		{
			"no network", configured, newstack.Answers{Stack: "home", Kind: manifest.Systems, Network: netip.MustParsePrefix("192.168.20.0/30")},
			"network 192.168.20.0/30 has fewer than 2 free addresses from 192.168.20.2 on (1), one for each system: name a larger network with --network, or an earlier --first-address",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.site.Files(test.answers, connection)
			require.EqualError(t, err, test.want)
		})
	}
}

// TestHostsThatAreConfiguredAreLeftOut of the proposal, and so are names of mappings and devices that have one.
func TestHostsThatAreConfiguredAreLeftOut(t *testing.T) {
	t.Parallel()
	site := changed(typed(three()), "pve2", cards)
	site = changed(site, "pve3", func(h *preflight.Host) {
		h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12)}
		h.Mappings.Value = []pve.Mapping{
			{ID: "rtx3090", Map: []string{"id=10de:2204,node=pve3,path=0000:01:00.0", "id=10de:2204,node=pve3,path=0000:09:00.0"}},
		}
	})
	first := maker("pve1")
	first.Inventory.File.Mappings = []hosts.Mapping{{Name: "rtx3090-2"}}
	site.Makers = preflight.Makers{first}
	plan, err := site.ProposeHosts(newstack.Answers{Stack: "more", Kind: manifest.Hosts})
	require.NoError(t, err)
	require.Equal(t, []string{"pve2", "pve3"}, plan.Hosts)
	var names []string
	for _, mapping := range plan.Mappings {
		names = append(names, mapping.Name+" "+mapping.GPU.Host+" "+mapping.GPU.Device.Address)
	}
	require.Equal(t, []string{"rtx3090-3 pve2 0000:01:00.0", "rtx3090-4 pve2 0000:02:00.0", "gpu pve2 0000:03:00.0"}, names)
}

// TestTheDialogueOfOtherKinds asks only what a stack of the kind needs.
func TestTheDialogueOfOtherKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[manifest.Kind][]string{
		manifest.Hosts: {"hosts, with commas between them"},
		manifest.Systems: {
			"host of the systems", "bridge of the machines", "VLAN tag, 0 for none", "network of the machines, e.g. 192.168.20.0/24", "its gateway",
			"first of the addresses to use", "storage of the disks",
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			site := changed(typed(three()), "pve1", func(h *preflight.Host) {
				h.Bridges.Value[0].CIDR, h.Storages.Value[0].Content = "192.168.1.10/24", "iso,vztmpl,import"
			})
			var questions []string
			answers, err := site.Interview(newstack.Answers{Stack: "home", Kind: kind}, func(question, _ string, _ error) (string, error) {
				questions = append(questions, question)
				return "", nil
			})
			require.NoError(t, err)
			require.Equal(t, want, questions)
			_, err = site.Files(answers, connection)
			require.NoError(t, err)
		})
	}
}
