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

// model is a PCI device by its kind: IDs and names are those of pci.ids (pciutils/pciids).
type model struct {
	class, vendor, device            string
	subsystemVendor, subsystemDevice string
	vendorName, deviceName           string
	// audio is the device ID of the sound function that a graphics card brings along, "" for a card without.
	audio string
}

// What a host of no particular make has on board: every preflight meets a display and a network card that are no GPUs.
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

// behindMapping is what stands behind a mapping, of which the inventory says the name only: the card that the mapping is
// named after, else a Tesla T4. It is alone in its group.
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

// cardsByName are cards of different generations, by names that one would give a mapping.
var cardsByName = map[string]inventory.PCIID{
	"t4": "10de:1eb8", "gtx1080ti": "10de:1b06", "p40": "10de:1b38", "rtx3090": "10de:2204", "rtx4090": "10de:2684", "rtx5090": "10de:2b85",
}

const (
	nvidia       = "NVIDIA Corporation"
	classDisplay = "0x030000" // VGA compatible controller
	classCompute = "0x030200" // 3D controller: a card without outputs
	classAudio   = "0x040300" // High Definition Audio controller
)

// gpuModels are cards whose names and functions are known; others are display controllers without a name.
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

// pciDevices are those of one host: what its nodes are given, and what every host has on board. A GPU that is given by
// its address is there and unmapped, since the program makes that mapping; one that is given by a mapping is mapped.
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
	devices := slices.Concat(given, sounds, placed) // what the inventory states comes first, and is kept
	slices.SortStableFunc(devices, func(a, b proxmox.PCIDevice) int { return cmp.Compare(a.Address, b.Address) })
	return slices.CompactFunc(devices, func(a, b proxmox.PCIDevice) bool { return a.Address == b.Address })
}

// givenGPU is the device whose four facts the inventory states.
func givenGPU(gpu inventory.GPU) proxmox.PCIDevice {
	m, known := gpuModels[gpu.DeviceID]
	if !known {
		m = model{class: classDisplay}
	}
	m.vendor, m.device = hexPair(gpu.DeviceID)
	m.subsystemVendor, m.subsystemDevice = hexPair(gpu.SubsystemID)
	return m.at(string(gpu.BDF), *gpu.IOMMUGroup)
}

// soundOf is the second function of a graphics card, which shares its IOMMU group on a real host too.
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

// hexPair splits 10de:2204 into the two numbers as Proxmox VE lists them.
func hexPair(id inventory.PCIID) (vendor, device string) {
	vendor, device, _ = strings.Cut(string(id), ":")
	return "0x" + vendor, "0x" + device
}

// busOf is the domain and the bus of an address.
func busOf(address inventory.BDF) string { return string(address[:len("0000:00")]) }

// places are the buses and IOMMU groups of a host that are taken.
type places struct {
	buses  map[string]bool
	groups map[int]bool
}

func (p places) take(bus string, group int) { p.buses[bus], p.groups[group] = true, true }

// Devices that the lab places begin on buses above those of small boards.
const firstBus, startBuses = 0x20, 0xd0

// place puts a device on a bus and into an IOMMU group of its own. Its purpose decides where the search begins, so that a
// device keeps its place when others join.
func (p places) place(m model, purpose string) proxmox.PCIDevice {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(purpose)) // it cannot fail
	for number := firstBus + int(hash.Sum32()%startBuses); ; number++ {
		bus := fmt.Sprintf("%04x:%02x", number>>8, number&0xff)
		if !p.buses[bus] && !p.groups[number] {
			p.take(bus, number)
			return m.at(bus+":00.0", number)
		}
	}
}
