package nvidia

import (
	"slices"
	"strconv"
	"strings"
)

// Generation is an architecture of GPUs. A later one is greater.
type Generation int

// The generations, oldest first. Unknown is a device that is not a GPU of NVIDIA's, or not in the table.
const (
	Unknown Generation = iota
	Fermi
	Kepler
	Maxwell
	Pascal
	Volta
	Turing
	Ampere
	Ada
	Hopper
	Blackwell
)

var generationNames = []string{"unknown", "Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"}

// String returns NVIDIA's name of the generation.
func (g Generation) String() string { return generationNames[g] }

// deviceRange is a range of device IDs, both ends included.
type deviceRange struct {
	first, last uint16
	generation  Generation
}

// devices are the ranges of device IDs that contain only GPUs of one generation, by the code name of the chip in pci.ids
// (version 2026.08.22: GF, GK, GM, GP, GV, TU, GA, AD, GH, GB). Every ID in the list of GPUs that the open kernel modules
// support (README.md of NVIDIA/open-gpu-kernel-modules, 595.45.04, 2026-03-05) is in a range from Turing on. IDs between the
// ranges belong to sound, USB and bridges, to chips before Fermi, or are unknown.
var devices = []deviceRange{
	{0x06c0, 0x06df, Fermi},
	{0x0dc0, 0x0dfc, Fermi},
	{0x0e22, 0x0f06, Fermi},
	{0x0fc0, 0x103f, Kepler},
	{0x1040, 0x109b, Fermi},
	{0x1140, 0x1140, Fermi},
	{0x1180, 0x11ff, Kepler},
	{0x1200, 0x1251, Fermi},
	{0x1280, 0x130b, Kepler},
	{0x1340, 0x1436, Maxwell},
	{0x15c2, 0x15ff, Pascal},
	{0x1613, 0x1676, Maxwell},
	{0x1725, 0x172f, Pascal},
	{0x174d, 0x17fd, Maxwell},
	{0x1b00, 0x1d56, Pascal},
	{0x1d81, 0x1df6, Volta},
	{0x1e02, 0x1ff9, Turing},
	{0x2080, 0x20ff, Ampere},
	{0x2182, 0x21d1, Turing},
	{0x2200, 0x223f, Ampere},
	{0x2302, 0x23f0, Hopper},
	{0x2414, 0x25fb, Ampere},
	{0x2681, 0x28f8, Ada},
	{0x2900, 0x2f58, Blackwell},
	{0x3180, 0x3340, Blackwell},
}

// vendor is NVIDIA's PCI vendor ID.
const vendor = "10de"

// GenerationOf returns the generation of a PCI ID such as 10de:2204, in any case; Unknown if it is not in the table.
func GenerationOf(id string) Generation {
	maker, model, paired := strings.Cut(strings.ToLower(id), ":")
	number, err := strconv.ParseUint(model, 16, 16)
	if !paired || maker != vendor || err != nil {
		return Unknown
	}
	at := slices.IndexFunc(devices, func(r deviceRange) bool { return uint16(number) >= r.first && uint16(number) <= r.last })
	if at < 0 {
		return Unknown
	}
	return devices[at].generation
}

// IsGPU reports whether a PCI device, by its address on the host and its ID such as 10de:2204, is a GPU of NVIDIA's. A device of NVIDIA's that is not
// in the table, such as a newer GPU, counts as one if it is the first function of its card: the other functions are sound, USB and the like.
func IsGPU(address, id string) bool {
	if GenerationOf(id) != Unknown {
		return true
	}
	maker, _, _ := strings.Cut(strings.ToLower(id), ":")
	return maker == vendor && strings.HasSuffix(address, ".0")
}
