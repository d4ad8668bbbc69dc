package passthrough_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// devices are a graphics card with its sound function, one of the same model, and a network card.
func devices(hasGroup bool) []passthrough.Device {
	return []passthrough.Device{
		{Address: "0000:01:00.0", ID: "10de:2204", IsDisplay: true, HasGroup: hasGroup},
		{Address: "0000:01:00.1", ID: "10de:1aef", HasGroup: hasGroup},
		{Address: "0000:02:00.0", ID: "8086:1533", HasGroup: hasGroup},
		{Address: "0000:03:00.0", ID: "1002:744c", IsDisplay: true, HasGroup: hasGroup},
	}
}

// booted are the facts of a host that was started with these options.
func booted(line string, facts passthrough.Facts) passthrough.Facts {
	facts.Report.CommandLine = strings.Fields(line)
	return facts
}

const (
	byGRUB    = "BOOT_IMAGE=/boot/vmlinuz-6.8.12-9-pve root=/dev/mapper/pve-root ro quiet"
	bySystemd = `initrd=\EFI\proxmox\6.8.12-9-pve\initrd.img-6.8.12-9-pve root=ZFS=rpool/ROOT/pve-1 boot=zfs`
	modern    = "6.8.12-9-pve"
	old       = "6.5.13-6-pve"
	firmware  = ", often named IOMMU, unless it is on"
)

// TestCommandsForAnIOMMU: what is printed for a host whose IOMMU is off depends on its processor, its kernel and its boot loader.
func TestCommandsForAnIOMMU(t *testing.T) {
	t.Parallel()
	const (
		addInGRUB    = `sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT="/&intel_iommu=on /' /etc/default/grub`
		addInSystemd = `sed -i '1s/$/ intel_iommu=on/' /etc/kernel/cmdline`
		whichGRUB    = "# the boot loader is not known here; `efibootmgr -v` names grubx64.efi or shimx64.efi with GRUB:"
		whichSystemd = "# and systemd-bootx64.efi with systemd-boot, then instead:"
	)
	for _, test := range []struct {
		name  string
		facts passthrough.Facts
		want  []string
	}{
		{"AMD, which a kernel turns on by itself", booted(byGRUB, passthrough.Facts{Processor: passthrough.AMD, Kernel: old}), []string{
			"# in the setup of the firmware: turn on AMD-Vi" + firmware, "reboot",
		}},
		{"Intel with a kernel that turns it on by itself", booted(bySystemd, passthrough.Facts{Processor: passthrough.Intel, Kernel: modern}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, "reboot",
		}},
		{"Intel with the first kernel of a later major release", booted(byGRUB, passthrough.Facts{Processor: passthrough.Intel, Kernel: "7.0.2-1-pve"}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, "reboot",
		}},
		{"Intel with an older kernel, GRUB", booted(byGRUB, passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, addInGRUB, "update-grub", "reboot",
		}},
		{"Intel with an older kernel, systemd-boot", booted(bySystemd, passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, addInSystemd, "proxmox-boot-tool refresh", "reboot",
		}},
		{"an option that is given already", booted(byGRUB+" intel_iommu=on", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, "reboot",
		}},
		{"turned off in GRUB", booted(byGRUB+" amd_iommu=off iommu=off", passthrough.Facts{Processor: passthrough.AMD, Kernel: modern}), []string{
			"# in the setup of the firmware: turn on AMD-Vi" + firmware,
			`sed -i '/^GRUB_CMDLINE_LINUX/s/ *\bamd_iommu=off\b//g' /etc/default/grub`, `sed -i '/^GRUB_CMDLINE_LINUX/s/ *\biommu=off\b//g' /etc/default/grub`,
			"update-grub", "reboot",
		}},
		{"turned off in systemd-boot, with an older kernel", booted(bySystemd+" intel_iommu=off", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			"# in the setup of the firmware: turn on VT-d" + firmware,
			`sed -i 's/ *\bintel_iommu=off\b//g' /etc/kernel/cmdline`, addInSystemd, "proxmox-boot-tool refresh", "reboot",
		}},
		{"no report: a legacy BIOS has GRUB", passthrough.Facts{Processor: passthrough.Intel, Kernel: old, LegacyBIOS: true}, []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, addInGRUB, "update-grub", "reboot",
		}},
		{"no report: Secure Boot has GRUB", passthrough.Facts{Processor: passthrough.Intel, Kernel: old, SecureBoot: true}, []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, addInGRUB, "update-grub", "reboot",
		}},
		{"no report, so both ways", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}, []string{
			"# in the setup of the firmware: turn on VT-d" + firmware, whichGRUB, addInGRUB, "update-grub", whichSystemd, addInSystemd, "proxmox-boot-tool refresh", "reboot",
		}},
		{"nothing is known", passthrough.Facts{}, []string{
			"# in the setup of the firmware: turn on VT-d (Intel) or AMD-Vi (AMD)" + firmware,
			"# the processor is not known here: without one of Intel's, leave out intel_iommu=on",
			whichGRUB, addInGRUB, "update-grub", whichSystemd, addInSystemd, "proxmox-boot-tool refresh", "reboot",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lack := passthrough.Of("vmhost", test.facts, devices(false), []string{"0000:02:00.0"})
			require.False(t, lack.IsEmpty())
			require.True(t, lack.HasNoIOMMU())
			require.Equal(t, "PCI 0000:02:00.0 on vmhost is in no IOMMU group: the IOMMU is off", lack.String())
			require.Equal(t, test.want, lack.Commands())
		})
	}
}

// TestCommandsForADriver: only a driver that has a wanted display counts, and the IDs of all displays for machines are in one list.
func TestCommandsForADriver(t *testing.T) {
	t.Parallel()
	const (
		replaces = "# replaces /etc/modprobe.d/vfio.conf; `grep -r vfio-pci /etc/modprobe.d` shows what is there now"
		initramf = "update-initramfs -u -k all"
	)
	nvidia := passthrough.Drivers{InUse: "nouveau", Modules: []string{"nvidiafb", "nouveau"}}
	for _, test := range []struct {
		name     string
		drivers  map[string]passthrough.Drivers
		wanted   []string
		twin     string // the ID of the device at 0000:02:00.0
		hasGroup bool
		sentence string
		want     []string
	}{
		{"no driver has it", map[string]passthrough.Drivers{"0000:01:00.0": {Modules: nvidia.Modules}}, []string{"0000:01:00.0"}, "", true, "", nil},
		{"vfio-pci has it", map[string]passthrough.Drivers{"0000:01:00.0": {InUse: passthrough.VFIO}}, []string{"0000:01:00.0"}, "", true, "", nil},
		{"a network card, which its driver lets go", map[string]passthrough.Drivers{"0000:02:00.0": {InUse: "igb"}}, []string{"0000:02:00.0"}, "", true, "", nil},
		{"a card that no machine gets", map[string]passthrough.Drivers{"0000:01:00.0": nvidia}, []string{"0000:02:00.0", "0000:99:00.0"}, "", true, "", nil},
		{
			"a graphics card with its sound", map[string]passthrough.Drivers{"0000:01:00.0": nvidia, "0000:01:00.1": {InUse: "snd_hda_intel", Modules: []string{"snd_hda_intel"}}},
			[]string{"0000:01:00.0", "0000:01:00.0"}, "", true, "PCI 0000:01:00.0 on vmhost has the host's driver nouveau, not vfio-pci",
			[]string{
				replaces, "echo 'options vfio-pci ids=10de:2204,10de:1aef' > /etc/modprobe.d/vfio.conf",
				"echo 'softdep nouveau pre: vfio-pci' >> /etc/modprobe.d/vfio.conf", "echo 'softdep nvidiafb pre: vfio-pci' >> /etc/modprobe.d/vfio.conf",
				"echo 'softdep snd_hda_intel pre: vfio-pci' >> /etc/modprobe.d/vfio.conf", initramf, "reboot",
			},
		},
		{
			"beside a card that vfio-pci has", map[string]passthrough.Drivers{"0000:01:00.0": {InUse: passthrough.VFIO, Modules: []string{"nouveau"}}, "0000:03:00.0": {InUse: "amdgpu", Modules: []string{"amdgpu"}}},
			[]string{"0000:03:00.0"}, "", true, "PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			[]string{
				replaces, "echo 'options vfio-pci ids=10de:2204,10de:1aef,1002:744c' > /etc/modprobe.d/vfio.conf",
				"echo 'softdep nouveau pre: vfio-pci' >> /etc/modprobe.d/vfio.conf", "echo 'softdep amdgpu pre: vfio-pci' >> /etc/modprobe.d/vfio.conf", initramf, "reboot",
			},
		},
		{
			"the host has one of the same model", map[string]passthrough.Drivers{"0000:03:00.0": {InUse: "amdgpu"}},
			[]string{"0000:03:00.0"}, "1002:744c", true, "PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			[]string{
				replaces, "echo 'options vfio-pci ids=1002:744c' > /etc/modprobe.d/vfio.conf", "echo 'softdep amdgpu pre: vfio-pci' >> /etc/modprobe.d/vfio.conf",
				"# PCI 0000:02:00.0 has the ID 1002:744c too, so the host loses it as well", initramf, "reboot",
			},
		},
		{
			"and the IOMMU is off: one reboot", map[string]passthrough.Drivers{"0000:03:00.0": {InUse: "amdgpu"}},
			[]string{"0000:03:00.0", "0000:02:00.0"}, "", false,
			"PCI 0000:02:00.0, 0000:03:00.0 on vmhost are in no IOMMU group: the IOMMU is off; PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			[]string{
				"# in the setup of the firmware: turn on AMD-Vi" + firmware,
				replaces, "echo 'options vfio-pci ids=1002:744c' > /etc/modprobe.d/vfio.conf", "echo 'softdep amdgpu pre: vfio-pci' >> /etc/modprobe.d/vfio.conf", initramf, "reboot",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := devices(test.hasGroup)
			if test.twin != "" {
				all[2].ID = test.twin
			}
			facts := booted(byGRUB, passthrough.Facts{Processor: passthrough.AMD, Kernel: modern})
			facts.Report.Drivers = test.drivers
			lack := passthrough.Of("vmhost", facts, all, test.wanted)
			require.Equal(t, test.want == nil, lack.IsEmpty())
			require.Equal(t, !test.hasGroup, lack.HasNoIOMMU())
			require.Equal(t, test.sentence, lack.String())
			require.Equal(t, test.want, lack.Commands())
		})
	}
}

func TestVendors(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]passthrough.Vendor{
		"AMD EPYC 4244P 6-Core Processor": passthrough.AMD, "AuthenticAMD": passthrough.AMD, "13th Gen Intel(R) Core(TM) i5-13500": passthrough.Intel,
		"GenuineIntel": passthrough.Intel, "Neoverse-N1": "", "": "",
	} {
		require.Equal(t, want, passthrough.VendorOf(model), model)
	}
}

// TestReports: what is read of a report, and that a part of it that is missing is no fact.
func TestReports(t *testing.T) {
	t.Parallel()
	const devicesOf = "==== info about hardware ====\n\n# dmidecode -t bios\n\n# lspci -nnk\n" +
		"00:00.0 Host bridge [0600]: Intel Corporation 12th Gen Core Processor Host Bridge [8086:4660] (rev 02)\n" +
		"01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)\n" +
		"\tSubsystem: Gigabyte Technology Co., Ltd GA102 [GeForce RTX 3090] [1458:403b]\n\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb, nouveau\n" +
		"10000:e0:1d.0 System peripheral [0880]: Intel Corporation RST VMD Managed Controller [8086:09ab]\n\tKernel driver in use: vmd\n" +
		"\n==== info about block devices ====\n\n# lsblk\n02:00.0 is no device\n\tKernel driver in use: none\n"
	for _, test := range []struct {
		name, text string
		want       passthrough.Report
	}{
		{"all", "\n==== general system info ====\n\n# cat /etc/hosts\n# cat /proc/cmdline of a comment\n127.0.0.1 localhost\n\n# cat /proc/cmdline\n" + byGRUB + "\n\n" + devicesOf, passthrough.Report{
			CommandLine: strings.Fields(byGRUB),
			Drivers: map[string]passthrough.Drivers{
				"0000:00:00.0": {}, "0000:01:00.0": {InUse: "nouveau", Modules: []string{"nvidiafb", "nouveau"}}, "10000:e0:1d.0": {InUse: "vmd"},
			},
		}},
		{"a release without the command line", devicesOf[:strings.Index(devicesOf, "01:00.0")], passthrough.Report{Drivers: map[string]passthrough.Drivers{"0000:00:00.0": {}}}},
		{"commands that failed", "\n# cat /proc/cmdline\n\nERROR: timeout\n\n# lspci -nnk\n\nERROR: timeout\n", passthrough.Report{}},
		{"another text", "hello", passthrough.Report{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, passthrough.ParseReport(test.text))
		})
	}
}
