package preflight_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

func TestAHostThatCanBearTheInventory(t *testing.T) {
	t.Parallel()
	inv, found := sound(t)
	var sentences []string
	for _, check := range preflight.Evaluate(inv, found) {
		require.Equal(t, preflight.OK, check.Result, check.Sentence)
		sentences = append(sentences, check.Name+": "+check.Sentence)
	}
	require.Equal(t, []string{
		"version: Proxmox VE 9.1.1 answers at https://pve1:8006 (12ms)",
		"privileges: token ops@pve!k8s has what the plan needs",
		"host: hosts pve1, pve2 are online",
		"clock: every clock of pve1, pve2 agrees with this machine's",
		"storage: storage local on pve1 has room for 1 GiB, storage tank on pve1 has room for 321 GiB, " +
			"storage local on pve2 has room for 1 GiB, storage tank on pve2 has room for 169 GiB",
		"bridge: bridge vmbr0 on pve1, bridge vmbr0 on pve2, bridge vmbr0 with VLAN 20 on pve1, bridge vmbr0 with VLAN 20 on pve2 are there",
		"vmid: 3 VMIDs: 3 free, 0 ours",
		"address: 4 addresses and 3 MACs free in the configurations of 0 other guests",
		"template: template 9000 is not on pve1 yet: up makes it",
		"template: template 9001 is not on pve2 yet: up makes it",
		"memory: memory of pve1 would be 62 % committed (40.0 of 64.0 GiB)",
		"memory: memory of pve2 would be 12 % committed (8.0 of 64.0 GiB)",
		"cores: the nodes on pve1 have 12 cores, the host 12 threads",
		"cores: the nodes on pve2 have 4 cores, the host 12 threads",
		"gpu: PCI 0000:01:00.0 on pve1 is NVIDIA Corporation GA102 [GeForce RTX 3090] and free",
		"factory: the Image Factory at https://factory.talos.dev has Talos v1.12.4, and is reached from the host",
	}, sentences)
}

// TestNameserversThatRun of another stack in this Proxmox VE are found; another one is not asked.
func TestNameserversThatRun(t *testing.T) {
	t.Parallel()
	inv, found := sound(t)
	far := pihole(preflight.Elsewhere)
	far.Name, far.Stack = "dns", "far"
	found.Servers = []preflight.Server{pihole(preflight.Here), far}
	add(&found, pve.Guest{VMID: 211, Name: "pihole", Node: "pve2", Type: "lxc", Status: "running"}, pve.GuestConfig{})
	report := preflight.Evaluate(inv, found)
	require.Empty(t, report.Unsound())
	var sentences []string
	for _, check := range report {
		if check.Name == "nameserver" {
			sentences = append(sentences, check.Sentence)
		}
	}
	require.Equal(t, []string{
		"nameserver dns of stack far is in another Proxmox VE, which is not asked", "the nameservers of the nodes run: pihole of stack site-systems",
	}, sentences)

	found.Guests.Err = errDown
	require.Contains(t, preflight.Evaluate(inv, found), preflight.Check{
		Name: "nameserver", Result: preflight.Fail, Sentence: "the list of VMs cannot be read (596 Connection timed out)",
		Remedy: "see that the host answers and that the token has the role that `em-infra role` prints",
	})
}

func TestWhatStandsAlreadyIsOurs(t *testing.T) {
	t.Parallel()
	inv, found := sound(t)
	add(&found, pve.Guest{VMID: 9000, Name: "talos-v1.12.4-base", Node: "pve1", Type: "qemu", Template: true},
		pve.GuestConfig{"ide0": "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso,media=cdrom,size=300M"})
	add(&found, pve.Guest{VMID: 9001, Name: "talos-v1.12.3-base", Node: "pve2", Type: "qemu", Template: true},
		pve.GuestConfig{"ide0": "local:iso/talos-v1.12.3-nocloud-0123456789abcdef-amd64.iso,media=cdrom,size=300M"})
	add(&found, pve.Guest{VMID: 102, Name: "w1", Node: "pve2", Type: "qemu", Status: "running", MemoryBytes: 8 * gib}, pve.GuestConfig{
		"net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,tag=20", "ipconfig0": "ip=192.168.20.21/24",
		"scsi0": "tank:vm-102-disk-0,discard=on,size=128G", "scsi1": "tank:vm-102-disk-1,size=10G",
	})
	report := preflight.Evaluate(inv, found)
	require.Empty(t, report.Unsound())
	var sentences []string
	for _, check := range report {
		if check.Name == "template" || check.Name == "vmid" || check.Name == "storage" {
			sentences = append(sentences, check.Sentence)
		}
	}
	require.Equal(t, []string{
		"storage local on pve1 is there, storage tank on pve1 has room for 320 GiB, storage local on pve2 is there, storage tank on pve2 has room for 30 GiB",
		"3 VMIDs: 2 free, 1 ours",
		"template 9000 (talos-v1.12.4-base on pve1) is of Talos v1.12.4",
		"template 9001 (talos-v1.12.3-base on pve2) is of Talos v1.12.3: up replaces it by one of v1.12.4, running nodes stay as they are",
	}, sentences)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for _, test := range findings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv, found := sound(t)
			test.alter(&found)
			require.Equal(t, preflight.Report(test.want), preflight.Evaluate(inv, found).Unsound())
		})
	}
}

// TestWhenTheFactoryIsNeeded: an unreachable factory is only a warning if nothing has to be downloaded.
func TestWhenTheFactoryIsNeeded(t *testing.T) {
	t.Parallel()
	const other = "fedcba9876543210aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for name, test := range map[string]struct {
		schematic    string
		withoutGPUs  bool
		stands       bool
		unmade       []string
		fails, warns int
	}{
		"all templates stand":               {withoutGPUs: true, warns: 1},
		"they have the schematic":           {schematic: "0123456789abcdef" + other[16:], withoutGPUs: true, warns: 1},
		"they have another schematic":       {schematic: other, withoutGPUs: true, fails: 1},
		"a worker with GPUs does not stand": {fails: 1},
		"it stands":                         {stands: true, warns: 1},
		"it stands, and gets another image": {stands: true, unmade: []string{"gpu1"}, fails: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, found := sound(t)
			if test.withoutGPUs {
				nodes, _, _ := strings.Cut(nodesYAML, "  - name: gpu1")
				inv = inventoryOf(t, clusterYAML, nodes)
			}
			for vmid, node := range map[int]string{9000: "pve1", 9001: "pve2"} {
				add(&found, pve.Guest{VMID: vmid, Name: "talos-v1.12.4-base", Node: node, Type: "qemu", Template: true},
					pve.GuestConfig{"ide0": "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso,media=cdrom"})
			}
			if test.stands {
				add(&found, pve.Guest{VMID: 103, Name: "gpu1", Node: "pve1", Type: "qemu", Status: "running"}, pve.GuestConfig{"description": found.Owner.Mark()})
			}
			found.Factory.Versions.Err, found.Factory.Schematic, found.Factory.UnmadeImages = errDown, test.schematic, test.unmade
			report := preflight.Evaluate(inv, found)
			require.Equal(t, test.fails, report.Count(preflight.Fail), report.Unsound())
			require.Equal(t, test.warns, report.Count(preflight.Warn), report.Unsound())
		})
	}
}

func TestATemplateOfAnotherSchematic(t *testing.T) {
	t.Parallel()
	inv, found := sound(t)
	found.Factory.Schematic = "fedcba9876543210aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	add(&found, pve.Guest{VMID: 9000, Name: "talos-v1.12.4-base", Node: "pve1", Type: "qemu", Template: true},
		pve.GuestConfig{"ide0": "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso,media=cdrom"})
	require.Contains(t, preflight.Evaluate(inv, found), preflight.Check{
		Name: "template", Result: preflight.OK,
		Sentence: "template 9000 (talos-v1.12.4-base on pve1) is of Talos v1.12.4 with another schematic: up replaces it by one of talos.schematic",
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	ok, warning, failure := preflight.Check{Result: preflight.OK}, preflight.Check{Result: preflight.Warn}, preflight.Check{Result: preflight.Fail}
	require.Equal(t, "1 check: 1 ok", preflight.Report{ok}.Summary())
	require.Equal(t, "4 checks: 1 ok, 1 warning, 2 failures", preflight.Report{ok, warning, failure, failure}.Summary())
}
