package preflight_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestDriverFindings: only the host knows the devices of a mapping, so preflight compares the driver with them.
func TestDriverFindings(t *testing.T) {
	t.Parallel()
	const byAddress = `{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`
	byMapping := strings.Replace(nodesYAML, byAddress, "{mapping: rtx}", 1)
	with := func(driver string) string {
		return strings.Replace(byMapping, "    gpus:", "    driver: "+driver+"\n    gpus:", 1)
	}
	oldTalos := strings.Replace(strings.Replace(clusterYAML, "version: v1.12.4, contract: v1.12", "version: v1.11.6, contract: v1.11", 1),
		"kubernetes: {", "kubernetes: {version: v1.34.1, ", 1)
	card := func(vendor, device, name string) func(*pve.PCIDevice) {
		return func(d *pve.PCIDevice) { d.Vendor, d.Device, d.DeviceName = "0x"+vendor, "0x"+device, name }
	}
	for _, test := range []struct {
		name           string
		cluster, nodes string
		card           func(*pve.PCIDevice)
		want           preflight.Report
	}{
		{"a card that the driver drives", clusterYAML, byMapping, card("10de", "2204", "GA102 [GeForce RTX 3090]"), preflight.Report{}},
		{"Pascal and the open modules", clusterYAML, byMapping, card("10de", "1b38", "GP102GL [Tesla P40]"), preflight.Report{{
			Name: "driver", Result: preflight.Fail, Remedy: "write driver: {kernelModuleType: proprietary, branch: lts}",
			Sentence: "the driver of gpu1 (open, lts, which is R580 in Talos v1.12.4) does not drive PCI 0000:01:00.0 on pve1, NVIDIA Corporation GP102GL [Tesla P40] (10de:1b38): " +
				"Pascal needs proprietary kernel modules, the open ones begin with Turing",
		}}},
		{"Pascal and the proprietary modules", clusterYAML, with("{kernelModuleType: proprietary}"), card("10de", "1b38", "GP102GL [Tesla P40]"), preflight.Report{}},
		{"Blackwell and the proprietary modules", clusterYAML, with("{kernelModuleType: proprietary}"), card("10de", "2b85", "GB202 [GeForce RTX 5090]"), preflight.Report{{
			Name: "driver", Result: preflight.Fail, Remedy: "write driver: {kernelModuleType: open, branch: lts}",
			Sentence: "the driver of gpu1 (proprietary, lts, which is R580 in Talos v1.12.4) does not drive PCI 0000:01:00.0 on pve1, NVIDIA Corporation GB202 [GeForce RTX 5090] (10de:2b85): " +
				"Blackwell needs open kernel modules",
		}}},
		{"a card that Talos has no driver for", clusterYAML, byMapping, card("10de", "102d", "GK210GL [Tesla K80]"), preflight.Report{{
			Name: "driver", Result: preflight.Fail, Remedy: "take another GPU, of Maxwell or later",
			Sentence: "the driver of gpu1 (open, lts, which is R580 in Talos v1.12.4) does not drive PCI 0000:01:00.0 on pve1, NVIDIA Corporation GK210GL [Tesla K80] (10de:102d): " +
				"no driver that Talos has drives Kepler",
		}}},
		{"a card of the future", clusterYAML, byMapping, card("10de", "3f00", "GX100"), preflight.Report{{
			Name: "driver", Result: preflight.Warn, Remedy: "look for it in NVIDIA's list of supported GPUs; open modules are for Turing and later, proprietary ones for Maxwell to Hopper",
			Sentence: "whether the driver of gpu1 (open, lts, which is R580 in Talos v1.12.4) drives PCI 0000:01:00.0 on pve1, NVIDIA Corporation GX100 (10de:3f00) is not known here",
		}}},
		{"a card of somebody else", clusterYAML, byMapping, func(d *pve.PCIDevice) {
			d.Vendor, d.Device, d.VendorName, d.DeviceName = "0x1002", "0x744c", "AMD", "Navi 31"
		}, preflight.Report{{
			Name: "driver", Result: preflight.Warn, Remedy: "give gpu1 a GPU of NVIDIA's, or bring the driver of this one by talos.schematic and patches",
			Sentence: "PCI 0000:01:00.0 on pve1, AMD Navi 31 (1002:744c) is none of NVIDIA's, and a gpu-worker's image has NVIDIA's driver",
		}}},
		{"the open modules of R535", oldTalos, byMapping, card("10de", "2204", "GA102 [GeForce RTX 3090]"), preflight.Report{{
			Name: "driver", Result: preflight.Warn, Remedy: "unless it is a data centre GPU, write driver: {branch: production} for gpu1, or kernelModuleType: proprietary",
			Sentence: "the open kernel modules of R535 in Talos v1.11.6 drive data centre GPUs only, and PCI 0000:01:00.0 on pve1, NVIDIA Corporation GA102 [GeForce RTX 3090] (10de:2204) may be none",
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, found := sound(t)
			found.Factory.Versions.Value = append(found.Factory.Versions.Value, "v1.11.6")
			devices(&found, func(d []pve.PCIDevice) []pve.PCIDevice { test.card(&d[0]); return d })
			change(&found, "pve1", func(h *preflight.Host) { h.Mappings.Value = mapping(rtxEntry) })
			require.Equal(t, test.want, preflight.Evaluate(inventoryOf(t, test.cluster, test.nodes), found).Unsound())
		})
	}
}

// A GPU is offered with its line for nodes.yaml and a driver that supports it, unless no driver does.
func TestACardThatNothingDrivesIsNotOffered(t *testing.T) {
	t.Parallel()
	_, found := sound(t)
	devices(&found, func(d []pve.PCIDevice) []pve.PCIDevice {
		d[0].Device, d[0].DeviceName = "0x1187", "GK104 [GeForce GTX 760]"
		return d
	})
	nodes, _, _ := strings.Cut(nodesYAML, "  - name: gpu1")
	require.Contains(t, preflight.Evaluate(inventoryOf(t, clusterYAML, nodes), found), preflight.Check{
		Name: "gpu", Result: preflight.OK,
		Sentence: "PCI 0000:01:00.0 on pve1 is NVIDIA Corporation GK104 [GeForce GTX 760], which no driver of Talos v1.12.4 drives",
	})
}
