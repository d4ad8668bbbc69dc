package nvidia_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nvidia"
)

// The IDs are of pci.ids 2026.08.22, two or more of each generation, at ends of ranges where there are such.
func TestGenerationByDeviceID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]nvidia.Generation{
		"10de:06c0": nvidia.Fermi,     // GeForce GTX 480
		"10de:1140": nvidia.Fermi,     // GeForce 610M
		"10de:102d": nvidia.Kepler,    // Tesla K80
		"10de:1187": nvidia.Kepler,    // GeForce GTX 760
		"10de:1380": nvidia.Maxwell,   // GeForce GTX 750 Ti
		"10de:13f2": nvidia.Maxwell,   // Tesla M60
		"10de:17fd": nvidia.Maxwell,   // Tesla M40
		"10de:15f8": nvidia.Pascal,    // Tesla P100 PCIe 16GB
		"10de:1b06": nvidia.Pascal,    // GeForce GTX 1080 Ti
		"10de:1b38": nvidia.Pascal,    // Tesla P40
		"10de:1d01": nvidia.Pascal,    // GeForce GT 1030
		"10de:1db4": nvidia.Volta,     // Tesla V100 PCIe 16GB
		"10DE:1DF6": nvidia.Volta,     // Tesla V100S PCIe 32GB
		"10de:1eb8": nvidia.Turing,    // Tesla T4
		"10de:2182": nvidia.Turing,    // GeForce GTX 1660 Ti
		"10de:20b1": nvidia.Ampere,    // A100 PCIe 40GB
		"10de:2204": nvidia.Ampere,    // GeForce RTX 3090
		"10de:25b6": nvidia.Ampere,    // A2 / A16
		"10de:2684": nvidia.Ada,       // GeForce RTX 4090
		"10de:2331": nvidia.Hopper,    // H100 PCIe
		"10de:2b85": nvidia.Blackwell, // GeForce RTX 5090
		"10de:2901": nvidia.Blackwell, // B200
		"10de:3182": nvidia.Blackwell, // B300 SXM6 AC
		"10de:1aef": nvidia.Unknown,   // sound of GA102
		"10de:10f0": nvidia.Unknown,   // sound of GP104
		"10de:1af1": nvidia.Unknown,   // an NVSwitch
		"10de:3000": nvidia.Unknown,   // GR100, of which no driver is known
		"10de:0640": nvidia.Unknown,   // GeForce 9500 GT
		"1002:744c": nvidia.Unknown,   // a Radeon
		"10de":      nvidia.Unknown,
		"10de:xyzw": nvidia.Unknown,
	} {
		require.Equal(t, want, nvidia.GenerationOf(id), id)
	}
}

// The GPUs that NVIDIA's own list gives to the open kernel modules (README.md of NVIDIA/open-gpu-kernel-modules 595.45.04): the
// first and the last ID of each run in it.
func TestOpenModulesDriveWhatNVIDIALists(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"1e02", "1ff9", "20b0", "20fd", "2182", "21d1", "2203", "2238", "230e", "2348", "2414", "25fb", "2684", "28f8", "2901", "2f58", "3182", "31c2",
	} {
		generation := nvidia.GenerationOf("10de:" + id)
		require.GreaterOrEqual(t, generation, nvidia.Turing, id)
		require.Empty(t, nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.LTS}.Misfit(generation, 580), id)
	}
}

func TestWhichDriverDrivesWhat(t *testing.T) {
	t.Parallel()
	open, proprietary := nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.LTS}, nvidia.Driver{KernelModules: nvidia.Proprietary, Branch: nvidia.LTS}
	for _, test := range []struct {
		driver     nvidia.Driver
		generation nvidia.Generation
		release    int
		want       string
	}{
		{open, nvidia.Kepler, 580, "no driver that Talos has drives Kepler"},
		{proprietary, nvidia.Kepler, 535, "no driver that Talos has drives Kepler"},
		{open, nvidia.Maxwell, 535, "Maxwell needs proprietary kernel modules, the open ones begin with Turing"},
		{open, nvidia.Volta, 580, "Volta needs proprietary kernel modules, the open ones begin with Turing"},
		{proprietary, nvidia.Pascal, 580, ""},
		{proprietary, nvidia.Pascal, 595, "R580 is the last driver for Pascal"},
		{proprietary, nvidia.Pascal, 0, ""},
		{open, nvidia.Turing, 595, ""},
		{proprietary, nvidia.Turing, 595, ""},
		{proprietary, nvidia.Hopper, 595, ""},
		{open, nvidia.Blackwell, 570, ""},
		{open, nvidia.Blackwell, 550, "drivers for Blackwell begin with R570"},
		{open, nvidia.Blackwell, 0, ""},
		{proprietary, nvidia.Blackwell, 595, "Blackwell needs open kernel modules"},
		{open, nvidia.Unknown, 535, ""},
	} {
		require.Equal(t, test.want, test.driver.Misfit(test.generation, test.release), "%v, %s, R%d", test.driver, test.generation, test.release)
	}
}

func TestADriverForAllGPUsOfANode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		generations []nvidia.Generation
		talos       string
		want        nvidia.Driver
	}{
		{nil, "v1.12.4", nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.LTS}},
		{[]nvidia.Generation{nvidia.Unknown, nvidia.Ada}, "v1.12.0", nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.LTS}},
		{[]nvidia.Generation{nvidia.Ada, nvidia.Pascal}, "v1.13.0", nvidia.Driver{KernelModules: nvidia.Proprietary, Branch: nvidia.LTS}},
		{[]nvidia.Generation{nvidia.Blackwell}, "v1.11.0", nvidia.Driver{KernelModules: nvidia.Open, Branch: nvidia.Production}},
		{[]nvidia.Generation{nvidia.Blackwell}, "v1.9.0", nvidia.Driver{}},
		{[]nvidia.Generation{nvidia.Blackwell, nvidia.Pascal}, "v1.12.0", nvidia.Driver{}},
		{[]nvidia.Generation{nvidia.Kepler}, "v1.12.0", nvidia.Driver{}},
	} {
		got, there := nvidia.Fitting(test.generations, test.talos)
		require.Equal(t, test.want, got, "%v in Talos %s", test.generations, test.talos)
		require.Equal(t, test.want != nvidia.Driver{}, there)
	}
}

func TestExtensionsOfADriver(t *testing.T) {
	t.Parallel()
	for _, driver := range nvidia.Drivers() {
		pair := driver.Extensions()
		require.Len(t, pair, 2)
		installed, whole := nvidia.Installed(append([]string{"siderolabs/qemu-guest-agent"}, pair...))
		require.Equal(t, driver, installed)
		require.True(t, whole)
	}
	require.Nil(t, nvidia.Driver{KernelModules: "nouveau", Branch: nvidia.LTS}.Extensions())

	lts := nvidia.Driver{KernelModules: nvidia.Proprietary, Branch: nvidia.LTS}
	for _, test := range []struct {
		extensions []string
		want       nvidia.Driver
		whole      bool
	}{
		{nil, nvidia.Driver{}, false},
		{[]string{"nvidia-container-toolkit-lts"}, nvidia.Driver{}, false},
		{[]string{"nonfree-kmod-nvidia-lts"}, lts, false},
		{[]string{"nonfree-kmod-nvidia-lts", "nvidia-container-toolkit-production"}, lts, false},
		{[]string{"nonfree-kmod-nvidia", "nvidia-container-toolkit"}, lts, true},
		{[]string{"nvidia-fabricmanager-lts", "nvidia-gdrdrv-device"}, nvidia.Driver{}, false},
	} {
		installed, whole := nvidia.Installed(test.extensions)
		require.Equal(t, test.want, installed, "%v", test.extensions)
		require.Equal(t, test.whole, whole, "%v", test.extensions)
	}
	require.True(t, nvidia.IsExtension("siderolabs/nvidia-container-toolkit-production"))
	require.False(t, nvidia.IsExtension("siderolabs/nvidia-fabricmanager-lts"))
}

// Which of the two is newer changes with the version of Talos.
func TestReleasesOfTheBranches(t *testing.T) {
	t.Parallel()
	require.Equal(t, 580, nvidia.LTS.Release("v1.12.4"))
	require.Equal(t, 570, nvidia.Production.Release("v1.12.4"))
	require.Equal(t, 595, nvidia.Production.Release("v1.13.0-rc.0"))
	require.Zero(t, nvidia.LTS.Release("v1.99.0"))
	require.Zero(t, nvidia.LTS.Release(""))
}

// A card has its GPU as its first function: sound, USB and its controller follow it.
func TestWhichDeviceIsAGPU(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address, id string
		want        bool
	}{
		{"0000:01:00.0", "10de:2204", true},
		{"0000:01:00.0", "10DE:2204", true},
		{"0000:01:00.1", "10de:1aef", false}, // its sound
		{"0000:01:00.0", "10de:ffff", true},  // newer than the table
		{"0000:01:00.1", "10de:fffe", false},
		{"0000:01:00.4", "10de:2235", true}, // a virtual function
		{"0000:03:00.0", "1002:73bf", false},
		{"0000:03:00.0", "8086:56c0", false},
	} {
		require.Equal(t, test.want, nvidia.IsGPU(test.address, test.id), "%s %s", test.address, test.id)
	}
}

// TestWhatTheDevicePluginOffers checks that the sound device of a card does not count as a GPU, and that a device of a mapping, which is not known,
// does.
func TestWhatTheDevicePluginOffers(t *testing.T) {
	t.Parallel()
	card, sound := nvidia.Device{Address: "0000:01:00.0", ID: "10de:2204"}, nvidia.Device{Address: "0000:01:00.1", ID: "10de:1aef"}
	amd := nvidia.Device{Address: "0000:03:00.0", ID: "1002:73bf"}
	for _, test := range []struct {
		devices                []nvidia.Device
		shares, found, offered int
	}{
		{nil, 4, 0, 0},
		{[]nvidia.Device{card, sound, {}, amd}, 4, 2, 8},
		{[]nvidia.Device{card}, 0, 1, 1},
		{[]nvidia.Device{amd}, 1, 0, 0},
	} {
		found, offered := nvidia.Offered(test.devices, test.shares)
		require.Equal(t, []int{test.found, test.offered}, []int{found, offered}, "%v", test)
	}
}
