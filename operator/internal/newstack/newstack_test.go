package newstack_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/canonical"
	"github.com/em-infra/em-infra/operator/internal/newstack"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

var connection = newstack.Connection{
	Endpoint: "https://pve:8006", TokenVariable: "EM_INFRA_PROXMOX_TOKEN", TokenPath: "proxmox.apiToken",
}

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func count(number int) *int { return &number }

// written are sites and answers whose files are golden. Each is valid, canonical, and passes the rules of a preflight.
var written = []struct {
	name    string
	site    func(*testing.T) newstack.Site
	answers newstack.Answers
}{
	{"one-host", func(*testing.T) newstack.Site { return alone() }, home()},
	{
		"three-hosts", func(*testing.T) newstack.Site { return three() },
		newstack.Answers{Stack: "prod", Cluster: "k8s", Network: netip.MustParsePrefix("10.244.7.0/24"), VLAN: 30, Workers: count(2)},
	},
	{
		"own-storages", func(*testing.T) newstack.Site {
			return siteOf(map[string]preflight.Host{"a": installed(), "b": installed()})
		},
		newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/26"), Gateway: address("192.168.20.62"), Workers: count(0)},
	},
	{
		"much-is-taken", func(t *testing.T) newstack.Site {
			site := withGuest(alone(), pve.Guest{VMID: 201, Name: "dns", Node: "pve", Type: "lxc", MemoryBytes: 1 << 30},
				pve.GuestConfig{"net0": "name=eth0,bridge=vmbr0,tag=20,ip=192.168.20.13/24"})
			site.Beside = []inventory.Beside{beside(t, "other", otherCluster, otherNodes)}
			return site
		}, home(),
	},
	{
		"small-host", func(*testing.T) newstack.Site {
			return changed(alone(), "pve", func(h *preflight.Host) { h.Capacity.Value = pve.Capacity{Threads: 2, MemoryBytes: 12 << 30} })
		}, home(),
	},
	{
		"gpus", func(*testing.T) newstack.Site {
			return changed(alone(), "pve", func(h *preflight.Host) {
				h.Capacity.Value.MemoryBytes = 256 << 30
				h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12), card("0000:02:00.0", 13)}
				h.Mappings.Value = []pve.Mapping{{ID: "rtx3090", Map: []string{"id=10de:2204,node=pve,path=0000:01:00.0"}}}
			})
		},
		newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/24"), Workers: count(0), GPUWorkers: 2},
	},
	{
		"network-of-the-bridge", func(*testing.T) newstack.Site {
			return changed(alone(), "pve", func(h *preflight.Host) {
				h.Bridges.Value[0].CIDR, h.Bridges.Value[0].Gateway = "192.168.1.10/24", "192.168.1.254"
			})
		}, newstack.Answers{Stack: "home"},
	},
	{"nas", func(*testing.T) newstack.Site { return withPools("tank") }, onNAS("")},
}

// onNAS are answers that name a NAS, and withPools is a site whose NAS has pools.
func onNAS(pool string) newstack.Answers {
	answers := home()
	answers.NAS = newstack.NAS{Endpoint: "https://nas.example", Fingerprint: strings.Repeat("5E:", 31) + "03", Pool: pool}
	return answers
}

func withPools(names ...string) newstack.Site {
	site := alone()
	site.Pools = names
	return site
}

func TestFilesAreGolden(t *testing.T) {
	t.Parallel()
	for _, test := range written {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			site := test.site(t)
			files, err := site.Files(test.answers, connection)
			require.NoError(t, err)
			paths := newstack.PathsOf(test.answers)
			cluster, nodes := paths.Inventory[0], paths.Inventory[1]
			require.Equal(t, []string{paths.Configuration, cluster, nodes}, files.Paths())
			inv, err := inventory.Parse(filepath.Dir(cluster), files[cluster], files[nodes])
			require.NoError(t, err)
			for _, other := range site.Beside {
				require.NoError(t, inv.CheckBeside(other))
			}
			for _, path := range []string{cluster, nodes} {
				formed, err := canonical.Form(files[path])
				require.NoError(t, err)
				require.Equal(t, string(formed), string(files[path]))
			}
			requireSound(t, inv, site.Found)
			for path, text := range files {
				golden.Equal(t, filepath.Join("testdata", test.name, filepath.Base(path)), string(text))
			}
		})
	}
}

// requireSound applies the rules of a preflight that need no token and no Image Factory.
func requireSound(t *testing.T, inv *inventory.Inventory, found preflight.Snapshot) {
	t.Helper()
	for _, check := range preflight.Evaluate(inv, found) {
		switch check.Name {
		case "version", "privileges", "factory":
		default:
			require.NotEqual(t, preflight.Fail, check.Result, "%s: %s", check.Name, check.Sentence)
		}
	}
}

// TestWhatASiteCannotGive: each sentence ends with what to do.
func TestWhatASiteCannotGive(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("the token may not read it")
	for _, test := range []struct {
		name    string
		site    newstack.Site
		answers newstack.Answers
		want    string
	}{
		{
			"no network", alone(), newstack.Answers{Stack: "home"},
			"the network of the nodes cannot be read from a bridge: name one whose addresses you may hand out, as in --network 192.168.20.0/24",
		},
		{
			"no ISO storage", changed(alone(), "pve", func(h *preflight.Host) { h.Storages.Value[0].Content = "vztmpl,backup" }), home(),
			"host pve has no active storage for content type iso that the token may see: as root on a host: `pvesm set local --content vztmpl,backup,iso`",
		},
		{
			"no storage in common", changed(siteOf(map[string]preflight.Host{"a": installed(), "b": installed()}), "b",
				func(h *preflight.Host) { h.Storages.Value[1].Active = false }), home(),
			"hosts a, b have together no active storage for content type images that the token may see: as root on a host: `pvesm set local --content iso,vztmpl,images`",
		},
		{
			"no bridge", changed(alone(), "pve", func(h *preflight.Host) { h.Bridges.Value = nil }), home(),
			"host pve has no bridge that the token may use: make one in Proxmox VE (host, System, Network), give the token the role that `em-infra role` prints, or name other hosts with --host",
		},
		{
			"no memory and no room", changed(alone(), "pve", func(h *preflight.Host) {
				h.Capacity.Value.MemoryBytes, h.Storages.Value[1].AvailableBytes = 4<<30, 50<<30
			}), home(),
			"the nodes on pve need 8192 MiB of memory, and 4096 MiB are free: stop other machines, take fewer nodes, or name other hosts with --host\n" +
				"the disks need 97 GiB on storage local-lvm of pve, and 50 GiB are free: free space, take fewer nodes, or name another storage with --disk-storage",
		},
		{
			"small network", alone(), newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/29"), ControlPlanes: 3, Workers: count(3)},
			"network 192.168.20.0/29 has fewer than 7 free addresses from 192.168.20.2 on (5), one for the Kubernetes API and one for each node: " +
				"name a larger network with --network, an earlier --first-address, or fewer nodes",
		},
		{
			"wrong answers", alone(), newstack.Answers{
				Stack: "home", Hosts: []string{"pve", "away"}, Network: netip.MustParsePrefix("192.168.20.0/24"), FirstAddress: address("10.0.0.1"), ControlPlanes: 2, Workers: count(-1),
			},
			"host away is not online here: choose from pve with --host\n" +
				"etcd has 1, 3 or 5 members (got 2): give one of these as --control-planes\n" +
				"a number of workers is negative: give 0 or more as --workers and --gpu-workers\n" +
				"the first address 10.0.0.1 is not in the network 192.168.20.0/24: choose one of it with --first-address",
		},
		{
			"IPv6", alone(), newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("fd00::/64")},
			"the network fd00::/64 is not IPv4: name an IPv4 network with --network, and add network.cidr6 to cluster.yaml afterwards",
		},
		{
			"no GPU", alone(), newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/24"), GPUWorkers: 1},
			"--gpu-workers is 1, and 0 GPUs are free: Proxmox VE shows no GPU more: see `lspci -Dnn` on the hosts, and that the token may read them (Sys.Audit on /)",
		},
		{
			"no IOMMU", changed(alone(), "pve", func(h *preflight.Host) { h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", -1)} }),
			newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/24"), GPUWorkers: 1},
			"--gpu-workers is 1, and 0 GPUs are free: PCI 0000:01:00.0 on pve is in no IOMMU group: the IOMMU is off: turn on its IOMMU as docs/hosts.md (What no API can do) says",
		},
		{
			"GPU in use", withGuest(changed(alone(), "pve", func(h *preflight.Host) { h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12)} }),
				pve.Guest{VMID: 500, Name: "games", Node: "pve", Type: "qemu"}, pve.GuestConfig{"hostpci0": "0000:01:00,pcie=1"}),
			newstack.Answers{Stack: "home", Network: netip.MustParsePrefix("192.168.20.0/24"), GPUWorkers: 1},
			"--gpu-workers is 1, and 0 GPUs are free: PCI 0000:01:00.0 on pve is in use by VM 500 (games on pve): remove its hostpci from VM 500 (games on pve), or choose another device",
		},
		{
			"the name of a machine", withGuest(alone(), pve.Guest{VMID: 500, Name: "home-worker-1", Node: "pve", Type: "qemu"}, nil), home(),
			"VM 500 (home-worker-1 on pve) is called home-worker-1 already: choose another name with --cluster, or rename it",
		},
		{
			"no pool", withPools(), onNAS(""), "the NAS at https://nas.example has no pool: create one in Storage > Create Pool of TrueNAS",
		},
		{
			"several pools", withPools("fast", "tank"), onNAS(""), "the NAS at https://nas.example has the pools fast, tank: choose one with --nas-pool",
		},
		{
			"no host", newstack.Site{Found: preflight.Snapshot{Nodes: preflight.Reading[[]pve.Node]{Value: []pve.Node{{Name: "pve", Status: "offline"}}}}}, home(),
			"no host of this Proxmox VE is online: start one",
		},
		{
			"unreadable", changed(alone(), "pve", func(h *preflight.Host) { h.Storages.Err = unreadable }), home(),
			"the storages of host pve cannot be read (the token may not read it): give the token the role that `em-infra role` prints, and see that the hosts answer",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.site.Propose(test.answers)
			require.EqualError(t, err, test.want)
		})
	}
}

// TestTheNameAndTheGPUOfAnotherStackAreTaken: also while it does not run.
func TestTheNameAndTheGPUOfAnotherStackAreTaken(t *testing.T) {
	t.Parallel()
	site := changed(alone(), "pve", func(h *preflight.Host) {
		h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12)}
		h.Mappings.Value = []pve.Mapping{{ID: "big", Map: []string{"id=10de:2204,node=pve,path=0000:01:00.0"}}}
	})
	site.Beside = []inventory.Beside{beside(t, "second", otherCluster, otherNodes)}
	answers := home()
	answers.Cluster, answers.GPUWorkers = "other", 1
	_, err := site.Propose(answers)
	require.EqualError(t, err, "other is the cluster of stack second: choose another name with --cluster\n"+
		"a node of stack second is called other-control-1 already: choose another name with --cluster, or rename it\n"+
		"--gpu-workers is 1, and 0 GPUs are free: PCI 0000:01:00.0 on pve is that of stack second: take it out of that one first")
}

// TestTheDialogue: enter takes what is proposed after the answers so far, and an answer that cannot be used is asked again.
func TestTheDialogue(t *testing.T) {
	t.Parallel()
	type asked struct{ question, proposed string }
	for _, test := range []struct {
		name    string
		site    newstack.Site
		answers map[string][]string // by question; else enter
		asked   []asked
		wrong   []string
		want    newstack.Answers
	}{
		{
			"enter", changed(alone(), "pve", func(h *preflight.Host) { h.Bridges.Value[0].CIDR = "192.168.1.10/24" }), nil,
			[]asked{
				{"name of the cluster", "home"}, {"bridge of the machines", "vmbr0"}, {"VLAN tag, 0 for none", "0"},
				{"network of the machines, e.g. 192.168.20.0/24", "192.168.1.0/24"}, {"its gateway", "192.168.1.1"},
				{"first of the addresses to use", "192.168.1.10"},
				{"control planes: 1, 3 or 5", "1"}, {"workers", "1"}, {"storage of the ISO", "local"}, {"storage of the disks", "local-lvm"},
			},
			nil,
			newstack.Answers{
				Stack: "home", Cluster: "home", Bridge: "vmbr0", Network: netip.MustParsePrefix("192.168.1.0/24"), Gateway: address("192.168.1.1"),
				FirstAddress: address("192.168.1.10"), ControlPlanes: 1, Workers: count(1), ISOStorage: "local", DiskStorage: "local-lvm",
			},
		},
		{
			"others", three(), map[string][]string{
				"hosts, with commas between them": {"pve1, pve2"}, "VLAN tag, 0 for none": {"none", "20"},
				"network of the machines, e.g. 192.168.20.0/24": {"", "192.168.20.0", "fd00::/64", "192.168.20.0/24"}, "workers": {"-1", "2"},
			},
			[]asked{
				{"name of the cluster", "home"}, {"hosts, with commas between them", "pve1,pve2,pve3"}, {"bridge of the machines", "vmbr0"},
				{"VLAN tag, 0 for none", "0"}, {"VLAN tag, 0 for none", "0"},
				{"network of the machines, e.g. 192.168.20.0/24", ""}, {"network of the machines, e.g. 192.168.20.0/24", ""}, {"network of the machines, e.g. 192.168.20.0/24", ""},
				{"network of the machines, e.g. 192.168.20.0/24", ""},
				{"its gateway", "192.168.20.1"}, {"first of the addresses to use", "192.168.20.10"},
				{"control planes: 1, 3 or 5", "1"}, {"workers", "1"}, {"workers", "1"}, {"storage of the ISO", "nas"}, {"storage of the disks", "ceph"},
			},
			[]string{
				`"none" is no number: write one such as 1`, `"" is no network: write one such as 192.168.20.0/24`,
				`"192.168.20.0" is no network: write one such as 192.168.20.0/24`,
				"the network fd00::/64 is not IPv4: name an IPv4 network with --network, and add network.cidr6 to cluster.yaml afterwards", `"-1" is no number: write one such as 1`,
			},
			newstack.Answers{
				Stack: "home", Cluster: "home", Hosts: []string{"pve1", "pve2"}, Bridge: "vmbr0", VLAN: 20, Network: netip.MustParsePrefix("192.168.20.0/24"),
				Gateway: address("192.168.20.1"), FirstAddress: address("192.168.20.10"), ControlPlanes: 1, Workers: count(2), ISOStorage: "nas", DiskStorage: "ceph",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var questions []asked
			var wrong []string
			answers, err := test.site.Interview(newstack.Answers{Stack: "home"}, func(question, proposed string, reason error) (string, error) {
				questions = append(questions, asked{question, proposed})
				if reason != nil {
					wrong = append(wrong, reason.Error())
				}
				given := test.answers[question]
				if len(given) == 0 {
					return "", nil
				}
				test.answers[question] = given[1:]
				return given[0], nil
			})
			require.NoError(t, err)
			require.Equal(t, test.asked, questions)
			require.Equal(t, test.wrong, wrong)
			require.Equal(t, test.want, answers)
			_, err = test.site.Propose(answers)
			require.NoError(t, err)
		})
	}
}

// TestThePoolOfTheNASIsAsked only if there are several.
func TestThePoolOfTheNASIsAsked(t *testing.T) {
	t.Parallel()
	for pool, pools := range map[string][]string{"tank": {"fast", "tank"}, "": {"tank"}} {
		given, wrong := []string{"", pool}, []error{}
		answers, err := withPools(pools...).Interview(onNAS(""), func(question, _ string, reason error) (string, error) {
			if question != "pool of the NAS" {
				return "", nil
			}
			wrong = append(wrong, reason)
			next := given[0]
			given = given[1:]
			return next, nil
		})
		require.NoError(t, err)
		require.Equal(t, pool, answers.NAS.Pool)
		if pool == "" {
			require.Empty(t, wrong)
			continue
		}
		require.Len(t, wrong, 2)
		require.EqualError(t, wrong[1], "one of several pools has to be chosen: write the name of one")
	}
	require.Contains(t, withPools("fast", "tank").Describe("v1.12.4"), "NAS: pools fast, tank")
}

// TestANetworkOfAFlagThatIsNotIPv4: no gateway is asked for, since none can be proposed.
func TestANetworkOfAFlagThatIsNotIPv4(t *testing.T) {
	t.Parallel()
	answers := home()
	answers.Network = netip.MustParsePrefix("fd00::/64")
	_, err := alone().Interview(answers, func(question, proposed string, _ error) (string, error) {
		require.NotEqual(t, "its gateway", question)
		require.NotContains(t, proposed, "invalid")
		return "", nil
	})
	require.NoError(t, err)
}

func TestTheDialogueEndsWithItsPerson(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	_, err := alone().Interview(home(), func(string, string, error) (string, error) { return "", gone })
	require.ErrorIs(t, err, gone)
}

func TestWhatWasFoundIsDescribed(t *testing.T) {
	t.Parallel()
	site := withGuest(changed(alone(), "pve", func(h *preflight.Host) { h.Devices.Value = []pve.PCIDevice{card("0000:01:00.0", 12)} }),
		pve.Guest{VMID: 201, Name: "dns", Node: "pve", Type: "lxc"}, pve.GuestConfig{"net0": "name=eth0,bridge=vmbr0,tag=20", "net1": "name=eth1,bridge=vmbr0,tag=100"})
	require.Equal(t, []string{
		"pve: 16 threads, 64 GiB of memory; storage local (iso, vztmpl) with 90 GiB free; storage local-lvm (images, rootdir) with 1000 GiB free; " +
			"bridge vmbr0 with the VLANs 20, 100; GPU GA102 [GeForce RTX 3090] (0000:01:00.0) in IOMMU group 12",
	}, site.Describe("v1.12.4"))
}
