package lab

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// model is a kind of PCI device. IDs and names are those of pci.ids (pciutils/pciids).
type model struct {
	class, vendor, device            string
	subsystemVendor, subsystemDevice string
	vendorName, deviceName           string
	// audio is the device ID of a graphics card's sound function, "" for a card without one.
	audio string
}

// The onboard devices of every host: a display and a network card that are not GPUs, so that every preflight meets them.
var (
	onboardDisplay = model{
		class: "0x030000", vendor: "0x1a03", device: "0x2000", subsystemVendor: "0x1a03", subsystemDevice: "0x2000",
		vendorName: "ASPEED Technology, Inc.", deviceName: "ASPEED Graphics Family",
	}
	onboardNetwork = model{
		class: "0x020000", vendor: "0x8086", device: "0x1533", subsystemVendor: "0x8086", subsystemDevice: "0x0001",
		vendorName: "Intel Corporation", deviceName: "I210 Gigabit Network Connection",
	}
)

// behindMapping returns the device of a mapping. The inventory has only the name of the mapping: the device is the card of
// that name, otherwise a Tesla T4. It is alone in its IOMMU group.
func behindMapping(name string) model {
	id, named := cardsByName[name]
	if !named {
		id = cardsByName["t4"]
	}
	m := gpuModels[id]
	m.vendor, m.device = hexPair(id)
	m.subsystemVendor, m.subsystemDevice = m.vendor, "0x12a2"
	return m
}

// cardsByName are cards of different generations, by likely names of mappings.
var cardsByName = map[string]inventory.PCIID{
	"t4": "10de:1eb8", "gtx1080ti": "10de:1b06", "p40": "10de:1b38", "rtx3090": "10de:2204", "rtx4090": "10de:2684", "rtx5090": "10de:2b85",
}

const (
	nvidia       = "NVIDIA Corporation"
	classDisplay = "0x030000" // VGA compatible controller
	classCompute = "0x030200" // 3D controller: a card without display outputs
	classAudio   = "0x040300" // High Definition Audio controller
)

// gpuModels are the cards whose names and functions are known. Others are display controllers without a name.
var gpuModels = map[inventory.PCIID]model{
	"10de:1b06": {class: classDisplay, vendorName: nvidia, deviceName: "GP102 [GeForce GTX 1080 Ti]", audio: "0x10ef"},
	"10de:1b38": {class: classCompute, vendorName: nvidia, deviceName: "GP102GL [Tesla P40]"},
	"10de:1eb8": {class: classCompute, vendorName: nvidia, deviceName: "TU104GL [Tesla T4]"},
	"10de:2204": {class: classDisplay, vendorName: nvidia, deviceName: "GA102 [GeForce RTX 3090]", audio: "0x1aef"},
	"10de:25b6": {class: classCompute, vendorName: nvidia, deviceName: "GA107GL [A2 / A16]"},
	"10de:2684": {class: classDisplay, vendorName: nvidia, deviceName: "AD102 [GeForce RTX 4090]", audio: "0x22ba"},
	"10de:27b8": {class: classCompute, vendorName: nvidia, deviceName: "AD104GL [L4]"},
	"10de:2b85": {class: classDisplay, vendorName: nvidia, deviceName: "GB202 [GeForce RTX 5090]", audio: "0x22e8"},
}

// pciDevices returns the devices of one host: the GPUs of its nodes and the onboard devices. A GPU with an address is
// unmapped, because the program creates that mapping. A GPU with a mapping is mapped.
func pciDevices(nodes inventory.Nodes) []proxmox.PCIDevice {
	p := places{buses: map[string]bool{}, groups: map[int]bool{}}
	var given, sounds, placed []proxmox.PCIDevice
	mapped := map[string]int{}
	for _, node := range nodes {
		for _, gpu := range node.GPUs {
			if gpu.Mapping != "" {
				mapped[gpu.Mapping]++
				continue
			}
			given = append(given, givenGPU(gpu))
			sounds = append(sounds, soundOf(gpu)...)
			p.take(busOf(gpu.BDF), *gpu.IOMMUGroup)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		for i := range mapped[name] {
			device := p.place(behindMapping(name), fmt.Sprintf("%s/%d", name, i))
			device.Mapping = name
			placed = append(placed, device)
		}
	}
	placed = append(placed, p.place(onboardNetwork, "network"), p.place(onboardDisplay, "display"))
	devices := slices.Concat(given, sounds, placed) // the inventory's own devices come first and are kept
	slices.SortStableFunc(devices, func(a, b proxmox.PCIDevice) int { return cmp.Compare(a.Address, b.Address) })
	return slices.CompactFunc(devices, func(a, b proxmox.PCIDevice) bool { return a.Address == b.Address })
}

// givenGPU returns a GPU for which the inventory has all four values.
func givenGPU(gpu inventory.GPU) proxmox.PCIDevice {
	m, known := gpuModels[gpu.DeviceID]
	if !known {
		m = model{class: classDisplay}
	}
	m.vendor, m.device = hexPair(gpu.DeviceID)
	m.subsystemVendor, m.subsystemDevice = hexPair(gpu.SubsystemID)
	return m.at(string(gpu.BDF), *gpu.IOMMUGroup)
}

// soundOf returns the second function of a graphics card. It shares the IOMMU group of the card, as on a real host.
func soundOf(gpu inventory.GPU) []proxmox.PCIDevice {
	slot, isFirst := strings.CutSuffix(string(gpu.BDF), ".0")
	audio := gpuModels[gpu.DeviceID].audio
	if !isFirst || audio == "" {
		return nil
	}
	sound := givenGPU(gpu)
	sound.Address, sound.Class, sound.Device = slot+".1", classAudio, audio
	sound.DeviceName = strings.Fields(sound.DeviceName)[0] + " High Definition Audio Controller"
	return []proxmox.PCIDevice{sound}
}

func (m model) at(address string, group int) proxmox.PCIDevice {
	return proxmox.PCIDevice{
		Address: address, Class: m.class, Vendor: m.vendor, Device: m.device,
		SubsystemVendor: m.subsystemVendor, SubsystemDevice: m.subsystemDevice,
		VendorName: m.vendorName, DeviceName: m.deviceName, IOMMUGroup: group,
	}
}

// hexPair splits 10de:2204 into the two numbers in the format of Proxmox VE.
func hexPair(id inventory.PCIID) (vendor, device string) {
	vendor, device, _ = strings.Cut(string(id), ":")
	return "0x" + vendor, "0x" + device
}

// busOf returns the domain and the bus of an address.
func busOf(address inventory.BDF) string { return string(address[:len("0000:00")]) }

// places are the used buses and IOMMU groups of a host.
type places struct {
	buses  map[string]bool
	groups map[int]bool
}

func (p places) take(bus string, group int) { p.buses[bus], p.groups[group] = true, true }

// Devices that the lab places are on higher buses than those of small boards.
const firstBus, startBuses = 0x20, 0xd0

// place assigns a device its own bus and IOMMU group. The search starts at a position that depends on its purpose, so that a
// device keeps its place when others are added.
func (p places) place(m model, purpose string) proxmox.PCIDevice {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(purpose)) // never returns an error
	for number := firstBus + int(hash.Sum32()%startBuses); ; number++ {
		bus := fmt.Sprintf("%04x:%02x", number>>8, number&0xff)
		if !p.buses[bus] && !p.groups[number] {
			p.take(bus, number)
			return m.at(bus+":00.0", number)
		}
	}
}
