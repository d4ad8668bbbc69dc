package lab_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

const controlPlaneYAML = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.217.11}
`

func gpuWorker(number int, gpus string) string {
	return fmt.Sprintf("  - {name: gpu-%[1]d, role: gpu-worker, vmid: %[2]d, address: 192.168.217.%[3]d, gpus: [%[4]s]}\n",
		number, 110+number, 30+number, gpus)
}

func onlyHost(t *testing.T, nodes string) proxmox.Host {
	t.Helper()
	hosts := lab.Hosts(parse(t, clusterYAML, nodes))
	require.Len(t, hosts, 1)
	return hosts[0]
}

// Every host has a display and a network card, both unmapped.
func TestPCIOfAHostWithoutGPUs(t *testing.T) {
	t.Parallel()
	devices := onlyHost(t, controlPlaneYAML).PCI
	require.Len(t, devices, 2)
	for _, device := range devices {
		require.NotEqual(t, "0x10de", device.Vendor)
		require.Empty(t, device.Mapping)
	}
	require.NotEqual(t, devices[0].IOMMUGroup, devices[1].IOMMUGroup)
}

// A GPU with an address is on the host, in the IOMMU group of the inventory, together with its sound function.
func TestGPUByAddress(t *testing.T) {
	t.Parallel()
	devices := onlyHost(t, controlPlaneYAML+gpuWorker(1,
		`{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`)).PCI
	require.Len(t, devices, 4)
	require.Equal(t, proxmox.PCIDevice{
		Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462",
		SubsystemDevice: "0x3881", VendorName: "NVIDIA Corporation", DeviceName: "GA102 [GeForce RTX 3090]", IOMMUGroup: 14,
	}, devices[0])
	require.Equal(t, proxmox.PCIDevice{
		Address: "0000:01:00.1", Class: "0x040300", Vendor: "0x10de", Device: "0x1aef", SubsystemVendor: "0x1462",
		SubsystemDevice: "0x3881", VendorName: "NVIDIA Corporation", DeviceName: "GA102 High Definition Audio Controller",
		IOMMUGroup: 14,
	}, devices[1])
}

// A device of an unknown model has the values of the inventory.
func TestGPUOfAnUnknownModel(t *testing.T) {
	t.Parallel()
	devices := onlyHost(t, controlPlaneYAML+gpuWorker(1,
		`{bdf: "0000:0b:00.0", deviceId: "10de:ffff", subsystemId: "10de:0001", iommuGroup: 0}`)).PCI
	require.Equal(t, proxmox.PCIDevice{
		Address: "0000:0b:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0xffff", SubsystemVendor: "0x10de",
		SubsystemDevice: "0x0001",
	}, devices[0])
}

// The inventory's values of a second function take precedence over the lab's.
func TestSoundFunctionThatIsGiven(t *testing.T) {
	t.Parallel()
	devices := onlyHost(t, controlPlaneYAML+gpuWorker(1,
		`{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14},`+
			`{bdf: "0000:01:00.1", deviceId: "10de:1aef", subsystemId: "1462:3882", iommuGroup: 14}`)).PCI
	require.Len(t, devices, 4)
	require.Equal(t, "0000:01:00.1", devices[1].Address)
	require.Equal(t, "0x3882", devices[1].SubsystemDevice)
}

// A mapping has as many devices as the inventory uses, each in its own group.
func TestGPUsByMapping(t *testing.T) {
	t.Parallel()
	devices := mappedDevices(onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: aa}, {mapping: aa}")+gpuWorker(2, "{mapping: bb}")))
	require.Len(t, devices["aa"], 2)
	require.Len(t, devices["bb"], 1)
	seen := map[int]bool{}
	for _, device := range append(devices["aa"], devices["bb"]...) {
		require.Equal(t, "0x10de", device.Vendor)
		require.Equal(t, "0x1eb8", device.Device)
		require.False(t, seen[device.IOMMUGroup])
		seen[device.IOMMUGroup] = true
	}
}

// A mapping with the name of a card has that card, so that tests can use every generation.
func TestMappingsAreNamedAfterCards(t *testing.T) {
	t.Parallel()
	devices := mappedDevices(onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: p40}, {mapping: rtx5090}, {mapping: mine}")))
	require.Equal(t, "0x1b38", devices["p40"][0].Device)
	require.Equal(t, "GP102GL [Tesla P40]", devices["p40"][0].DeviceName)
	require.Equal(t, "0x2b85", devices["rtx5090"][0].Device)
	require.Equal(t, "0x1eb8", devices["mine"][0].Device)
}

// A device keeps its place when another mapping is added, or another machine uses the same mapping.
func TestMappedGPUsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	before := mappedDevices(onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: bb}")))
	after := mappedDevices(onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: bb}")+gpuWorker(2, "{mapping: aa}, {mapping: bb}")))
	require.Subset(t, after["bb"], before["bb"])
}

// The lab does not choose a bus or a group that the inventory uses.
func TestMappedGPUsKeepOffGivenPlaces(t *testing.T) {
	t.Parallel()
	chosen := mappedDevices(onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: aa}")))["aa"][0]
	host := onlyHost(t, controlPlaneYAML+gpuWorker(1, "{mapping: aa}")+gpuWorker(2,
		fmt.Sprintf(`{bdf: %q, deviceId: "10de:27b8", subsystemId: "10de:16ee", iommuGroup: 1}`, chosen.Address)))
	moved := mappedDevices(host)["aa"]
	require.Len(t, moved, 1)
	require.NotEqual(t, chosen.Address, moved[0].Address)
	require.NotEqual(t, chosen.IOMMUGroup, moved[0].IOMMUGroup)
}

func mappedDevices(host proxmox.Host) map[string][]proxmox.PCIDevice {
	mapped := map[string][]proxmox.PCIDevice{}
	for _, device := range host.PCI {
		if device.Mapping != "" {
			mapped[device.Mapping] = append(mapped[device.Mapping], device)
		}
	}
	return mapped
}
