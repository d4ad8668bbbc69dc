package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// devices changes the devices of the first host.
func devices(found *preflight.Snapshot, alter func([]pve.PCIDevice) []pve.PCIDevice) {
	change(found, "pve1", func(h *preflight.Host) { h.Devices.Value = alter(slices.Clone(h.Devices.Value)) })
}

func mapping(entries ...string) []pve.Mapping { return []pve.Mapping{{ID: "rtx", Map: entries}} }

const rtxEntry = "id=10de:2204,node=pve1,path=0000:01:00.0,iommugroup=14,subsystem-id=1462:3881"

func TestGPUFindings(t *testing.T) {
	t.Parallel()
	byMapping := strings.Replace(nodesYAML, `{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`, "{mapping: rtx}", 1)
	for _, test := range []struct {
		name     string
		nodes    string
		alter    func(*preflight.Snapshot)
		result   preflight.Result
		sentence string
		remedy   string
	}{
		{
			"another slot", nodesYAML, func(s *preflight.Snapshot) {
				devices(s, func(d []pve.PCIDevice) []pve.PCIDevice { d[0].Address = "0000:02:00.0"; return d })
			},
			preflight.Fail, "PCI 0000:01:00.0 of gpu1 is not on pve1", strings.Replace(gpuLine, "01:00.0", "02:00.0", 1),
		},
		{
			"no card at all", nodesYAML, func(s *preflight.Snapshot) { devices(s, func([]pve.PCIDevice) []pve.PCIDevice { return nil }) },
			preflight.Fail, "PCI 0000:01:00.0 of gpu1 is not on pve1", "look with `lspci -Dnn` on pve1: it shows no GPU to Proxmox VE",
		},
		{
			"another card (F14)", nodesYAML, func(s *preflight.Snapshot) {
				devices(s, func(d []pve.PCIDevice) []pve.PCIDevice { d[0].Device, d[0].IOMMUGroup = "0x2684", 15; return d })
			},
			preflight.Fail, "PCI 0000:01:00.0 on pve1 has deviceId 10de:2684, not 10de:2204 and iommuGroup 15, not 14",
			"gpus: [{bdf: 0000:01:00.0, deviceId: 10de:2684, subsystemId: 1462:3881, iommuGroup: 15}]",
		},
		{
			"shared group", nodesYAML, func(s *preflight.Snapshot) {
				devices(s, func(d []pve.PCIDevice) []pve.PCIDevice {
					return append(d, pve.PCIDevice{Address: "0000:04:00.0", Class: "0x010802", VendorName: "Samsung", DeviceName: "NVMe", IOMMUGroup: 14})
				})
			},
			preflight.Fail, "PCI 0000:01:00.0 on pve1 shares IOMMU group 14 with 0000:04:00.0 (Samsung NVMe)",
			"put the card into another slot of the host, or turn on ACS in its firmware",
		},
		{
			"in use", nodesYAML, func(s *preflight.Snapshot) { add(s, nas("running"), pve.GuestConfig{"hostpci0": "01:00,pcie=1"}) },
			preflight.Fail, "PCI 0000:01:00.0 on pve1 is in use by VM 205 (nas on pve1)", "remove its hostpci from VM 205 (nas on pve1), or choose another device",
		},
		{
			"in use by way of a mapping, and off", nodesYAML, func(s *preflight.Snapshot) {
				add(s, nas("stopped"), pve.GuestConfig{"hostpci1": "mapping=rtx,pcie=1"})
				change(s, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(rtxEntry) })
			},
			preflight.Warn, "PCI 0000:01:00.0 on pve1 is given to VM 205 (nas on pve1) too, which is off", "remove its hostpci from VM 205 (nas on pve1), or choose another device",
		},
		{
			"a mapping that a stack of hosts makes", byMapping, func(s *preflight.Snapshot) {
				maker := siteMaker()
				maker.Inventory.File.Mappings = []hosts.Mapping{{Name: "rtx"}}
				s.Makers = preflight.Makers{maker}
			},
			preflight.Fail, "mapping rtx of gpu1 is not in Proxmox VE, or the token may not use it", "run `em-infra up --stack site`, whose hosts.yaml has the mapping rtx",
		},
		{
			"no such mapping", byMapping, func(*preflight.Snapshot) {},
			preflight.Fail, "mapping rtx of gpu1 is not in Proxmox VE, or the token may not use it", "name another mapping, or paste " + gpuLine,
		},
		{
			"mapping of another host", byMapping, func(s *preflight.Snapshot) {
				change(s, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(strings.Replace(rtxEntry, "pve1", "pve2", 1)) })
			},
			preflight.Fail, "mapping rtx has no device on pve1", "add a device of that host to it under Datacenter, Resource Mappings",
		},
		{
			"mapping that does not fit", byMapping, func(s *preflight.Snapshot) {
				change(s, "pve1", func(h *preflight.Host) {
					h.Mappings.Value = mapping(rtxEntry)
					h.Mappings.Value[0].Checks = []pve.MappingCheck{{Severity: "error", Message: "Configuration for pci device '0000:01:00.0' not correct\n"}}
				})
			},
			preflight.Fail, "mapping rtx does not fit pve1: Configuration for pci device '0000:01:00.0' not correct", "correct it under Datacenter, Resource Mappings",
		},
		{
			"mapping of a whole slot that another machine has", byMapping, func(s *preflight.Snapshot) {
				add(s, nas("running"), pve.GuestConfig{"hostpci0": "mapping=rtx,pcie=1"})
				change(s, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(wholeSlot) })
			},
			preflight.Fail, "PCI 0000:01:00.0 on pve1 is in use by VM 205 (nas on pve1)", "remove its hostpci from VM 205 (nas on pve1), or choose another device",
		},
		{
			"a second mapping that has the card as its second device", byMapping, func(s *preflight.Snapshot) {
				add(s, nas("running"), pve.GuestConfig{"hostpci0": "mapping=nas"})
				change(s, "pve1", func(h *preflight.Host) {
					h.Mappings.Value = append(mapping(wholeSlot), pve.Mapping{ID: "nas", Map: []string{"node=pve1,path=0000:03:00;0000:01:00.0"}})
				})
			},
			preflight.Fail, "PCI 0000:01:00.0 on pve1 is in use by VM 205 (nas on pve1)", "remove its hostpci from VM 205 (nas on pve1), or choose another device",
		},
		{
			"mapping with too few devices", strings.Replace(byMapping, "[{mapping: rtx}]", "[{mapping: rtx}, {mapping: rtx}]", 1), func(s *preflight.Snapshot) {
				change(s, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(rtxEntry) })
			},
			preflight.Fail, "mapping rtx has 1 device on pve1, and 2 are asked for", "add devices to it under Datacenter, Resource Mappings, or remove GPUs from nodes.yaml",
		},
		{
			"unreadable", nodesYAML, func(s *preflight.Snapshot) {
				change(s, "pve1", func(h *preflight.Host) { h.Devices.Err = pve.ErrForbidden })
			},
			preflight.Fail, "the PCI devices of pve1 cannot be read (the token may not read it)", "see that the host answers and that the token has the role that `em-infra role` prints",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, found := sound(t)
			test.alter(&found)
			madeBy := map[string]string{"a mapping that a stack of hosts makes": "--stack site"}[test.name]
			require.Equal(t, preflight.Report{{Name: "gpu", Result: test.result, Sentence: test.sentence, Remedy: test.remedy, MadeBy: madeBy}},
				preflight.Evaluate(inventoryOf(t, clusterYAML, test.nodes), found).Unsound())
		})
	}
}

// wholeSlot is a mapping of all functions of a card, as the web interface writes it for "All functions".
const wholeSlot = "id=10de:2204,node=pve1,path=0000:01:00,iommugroup=14,subsystem-id=1462:3881"

// TestAMappingOfAWholeSlot has the first function of its slot: its card is looked at like any other, and it is not offered.
func TestAMappingOfAWholeSlot(t *testing.T) {
	t.Parallel()
	_, found := sound(t)
	change(&found, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(wholeSlot) })
	nodes := strings.Replace(nodesYAML, `{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`, "{mapping: rtx}", 1)
	report := preflight.Evaluate(inventoryOf(t, clusterYAML, nodes), found)
	require.Empty(t, report.Unsound())
	var sentences []string
	for _, check := range report {
		if check.Name == "gpu" {
			sentences = append(sentences, check.Sentence)
		}
	}
	require.Equal(t, []string{"PCI 0000:01:00.0 on pve1 is NVIDIA Corporation GA102 [GeForce RTX 3090] and free"}, sentences)
}

func TestAMappingThatFits(t *testing.T) {
	t.Parallel()
	_, found := sound(t)
	change(&found, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(rtxEntry) })
	nodes := strings.Replace(nodesYAML, `{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`, "{mapping: rtx}", 1)
	require.Empty(t, preflight.Evaluate(inventoryOf(t, clusterYAML, nodes), found).Unsound())
}

func TestTheLineForAGPUThatNobodyHas(t *testing.T) {
	t.Parallel()
	_, found := sound(t)
	nodes, _, _ := strings.Cut(nodesYAML, "  - name: gpu1")
	report := preflight.Evaluate(inventoryOf(t, clusterYAML, nodes), found)
	require.Contains(t, report, preflight.Check{
		Name: "gpu", Result: preflight.OK, Remedy: gpuLine,
		Sentence: "PCI 0000:01:00.0 on pve1 is NVIDIA Corporation GA102 [GeForce RTX 3090], and no node has it",
	})
	// The line in the remedy is valid in nodes.yaml.
	worker := "  - {name: gpu2, role: gpu-worker, vmid: 104, address: 192.168.20.32, " + gpuLine + "}\n"
	require.Empty(t, preflight.Evaluate(inventoryOf(t, clusterYAML, nodes+worker), withVM(found, "/vms/104")).Unsound())
}

// withVM gives the token the privileges on one more VM.
func withVM(found preflight.Snapshot, path string) preflight.Snapshot {
	found.Privileges[path] = allowed(9)
	return found
}
