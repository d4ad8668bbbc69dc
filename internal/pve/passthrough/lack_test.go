package passthrough_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	amdVi     = "# at this reboot, in the firmware's set-up: turn on AMD-Vi (IOMMU)"
	vtd       = "# at this reboot, in the firmware's set-up: turn on VT-d (IOMMU)"
)

// TestCommandsForAnIOMMU: what is printed for a host whose IOMMU is off depends on its processor, its kernel and its boot loader.
func TestCommandsForAnIOMMU(t *testing.T) {
	t.Parallel()
	const (
		addInGRUB    = `sed -i '/intel_iommu=on/!s/^GRUB_CMDLINE_LINUX_DEFAULT="/&intel_iommu=on /' /etc/default/grub`
		addInSystemd = `sed -i '1{/intel_iommu=on/!s/$/ intel_iommu=on/}' /etc/kernel/cmdline`
		unlessShown  = "# if this does not show the change, edit the line that it shows:"
		show         = "grep -rsn CMDLINE_LINUX /etc/default/grub /etc/default/grub.d"
		whichGRUB    = "# if `efibootmgr -v` names grubx64.efi or shimx64.efi, it is GRUB:"
		whichSystemd = "# if it names systemd-bootx64.efi, it is systemd-boot, so instead:"
		refresh      = "proxmox-boot-tool refresh"
	)
	for _, test := range []struct {
		name  string
		facts passthrough.Facts
		want  []string
	}{
		{"AMD, which a kernel turns on by itself", booted(byGRUB, passthrough.Facts{Processor: passthrough.AMD, Kernel: old}), []string{amdVi, "reboot"}},
		{"Intel with a kernel that turns it on by itself", booted(bySystemd, passthrough.Facts{Processor: passthrough.Intel, Kernel: modern}), []string{vtd, "reboot"}},
		{"Intel with the first kernel of a later major release", booted(byGRUB, passthrough.Facts{Processor: passthrough.Intel, Kernel: "7.0.2-1-pve"}), []string{vtd, "reboot"}},
		{"Intel with an older kernel, GRUB", booted(byGRUB, passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			addInGRUB, unlessShown, show, "update-grub", vtd, "reboot",
		}},
		{"Intel with an older kernel, systemd-boot", booted(bySystemd, passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			addInSystemd, refresh, vtd, "reboot",
		}},
		{"an option that is given already", booted(byGRUB+" intel_iommu=on", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{vtd, "reboot"}},
		{"turned off in GRUB", booted(byGRUB+" amd_iommu=off iommu=off", passthrough.Facts{Processor: passthrough.AMD, Kernel: modern}), []string{
			`sed -i '/^GRUB_CMDLINE_LINUX/s/ *\bamd_iommu=off\b//g' /etc/default/grub`, `sed -i '/^GRUB_CMDLINE_LINUX/s/ *\biommu=off\b//g' /etc/default/grub`,
			unlessShown, show, "update-grub", amdVi, "reboot",
		}},
		{"turned off in systemd-boot, with an older kernel", booted(bySystemd+" intel_iommu=off", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), []string{
			`sed -i 's/ *\bintel_iommu=off\b//g' /etc/kernel/cmdline`, addInSystemd, refresh, vtd, "reboot",
		}},
		{"no report: a legacy BIOS has GRUB", passthrough.Facts{Processor: passthrough.Intel, Kernel: old, LegacyBIOS: true}, []string{
			addInGRUB, unlessShown, show, "update-grub", vtd, "reboot",
		}},
		{"no report: Secure Boot has GRUB", passthrough.Facts{Processor: passthrough.Intel, Kernel: old, SecureBoot: true}, []string{
			addInGRUB, unlessShown, show, "update-grub", vtd, "reboot",
		}},
		{"the command line counts more than Secure Boot", booted(bySystemd, passthrough.Facts{Processor: passthrough.Intel, Kernel: old, SecureBoot: true}), []string{
			addInSystemd, refresh, vtd, "reboot",
		}},
		{"no report, so both ways", passthrough.Facts{Processor: passthrough.Intel, Kernel: old}, []string{
			whichGRUB, addInGRUB, unlessShown, show, "update-grub", whichSystemd, addInSystemd, refresh, vtd, "reboot",
		}},
		{"nothing is known", passthrough.Facts{}, []string{
			"# without a processor of Intel's, leave out the line of intel_iommu=on",
			whichGRUB, addInGRUB, unlessShown, show, "update-grub", whichSystemd, addInSystemd, refresh,
			"# at this reboot, in the firmware's set-up: turn on VT-d/AMD-Vi (IOMMU)", "reboot",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lack := passthrough.Of("vmhost", test.facts, devices(false), []string{"0000:02:00.0"})
			require.False(t, lack.IsEmpty())
			require.True(t, lack.HasNoIOMMU())
			require.Equal(t, "PCI 0000:02:00.0 on vmhost is in no IOMMU group: the IOMMU is off", lack.String())
			require.Equal(t, test.want, lack.Commands())
			fitsATerminal(t, lack.Commands())
		})
	}
}

// fitsATerminal checks that a comment is not broken in a terminal of 80 columns, where commands are indented by 9.
func fitsATerminal(t *testing.T, commands []string) {
	t.Helper()
	for _, line := range commands {
		if strings.HasPrefix(line, "#") {
			require.LessOrEqual(t, len(line), 80-9, line)
		}
	}
}

// TestCommandsMayBeRunAgain: until the reboot the same commands are printed, so a second run of them leaves the files as the first one.
func TestCommandsMayBeRunAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, booted, file, before, after string }{
		{
			"GRUB", byGRUB + " iommu=off", "/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=off\"\nGRUB_CMDLINE_LINUX=\"\"\n",
			"GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"intel_iommu=on quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n",
		},
		{
			"systemd-boot", bySystemd + " intel_iommu=off", "/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs intel_iommu=off\n",
			"root=ZFS=rpool/ROOT/pve-1 boot=zfs intel_iommu=on\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(copied, []byte(test.before), 0o600))
			commands := passthrough.Of("vmhost", booted(test.booted, passthrough.Facts{Processor: passthrough.Intel, Kernel: old}), devices(false), []string{"0000:02:00.0"}).Commands()
			for range 2 {
				ran := 0
				for _, line := range commands {
					if edit, isOne := strings.CutSuffix(line, " "+test.file); isOne && strings.HasPrefix(line, "sed ") {
						output, err := exec.CommandContext(t.Context(), "sh", "-c", edit+" "+copied).CombinedOutput() //nolint:gosec // the commands that are printed
						require.NoError(t, err, string(output))
						ran++
					}
				}
				require.Equal(t, 2, ran)
				text, err := os.ReadFile(copied) //nolint:gosec // a file of this test
				require.NoError(t, err)
				require.Equal(t, test.after, string(text))
			}
		})
	}
}

// TestCommandsForADriver: only a driver that has a wanted display counts, and the IDs of all displays for machines are in one list.
func TestCommandsForADriver(t *testing.T) {
	t.Parallel()
	const initramfs = "update-initramfs -u -k all"
	replaces := []string{
		"# vfio.conf is replaced: if this shows more IDs or options of vfio-pci,",
		"# add them to the new vfio.conf and remove them there:",
		"grep -rsE 'vfio[-_]pci' /etc/modprobe.d /proc/cmdline",
		"cp -a --backup=numbered /etc/modprobe.d/vfio.conf /etc/modprobe.d/vfio.conf.before 2>/dev/null || true",
	}
	noScreen := []string{
		"# no display is left to the host: its screen stays black from the",
		"# reboot on, so check first that you reach the host by SSH",
	}
	options := func(ids string, drivers ...string) []string {
		lines := []string{"echo 'options vfio-pci ids=" + ids + "' > /etc/modprobe.d/vfio.conf"}
		for _, driver := range drivers {
			lines = append(lines, "echo 'softdep "+driver+" pre: vfio-pci' >> /etc/modprobe.d/vfio.conf")
		}
		return append(lines, initramfs)
	}
	last := []string{"reboot"}
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
			slices.Concat(replaces, options("10de:2204,10de:1aef", "nouveau", "nvidiafb", "snd_hda_intel"), last),
		},
		{
			"two cards, which are all displays of the host", map[string]passthrough.Drivers{"0000:01:00.0": nvidia, "0000:03:00.0": {InUse: "amdgpu", Modules: []string{"amdgpu"}}},
			[]string{"0000:03:00.0", "0000:01:00.0"}, "", true,
			"PCI 0000:01:00.0 on vmhost has the host's driver nouveau, not vfio-pci; PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			slices.Concat(noScreen, replaces, options("10de:2204,10de:1aef,1002:744c", "nouveau", "nvidiafb", "amdgpu"), last),
		},
		{
			"beside a card that vfio-pci has", map[string]passthrough.Drivers{"0000:01:00.0": {InUse: passthrough.VFIO, Modules: []string{"nouveau"}}, "0000:03:00.0": {InUse: "amdgpu", Modules: []string{"amdgpu"}}},
			[]string{"0000:03:00.0"}, "", true, "PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			slices.Concat(noScreen, replaces, options("10de:2204,10de:1aef,1002:744c", "nouveau", "amdgpu"), last),
		},
		{
			"the host has one of the same model", map[string]passthrough.Drivers{"0000:03:00.0": {InUse: "amdgpu"}},
			[]string{"0000:03:00.0"}, "1002:744c", true, "PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			slices.Concat([]string{
				"# PCI 0000:02:00.0 has the ID 1002:744c too: the host loses it as well",
				"# if the host needs it, leave out the lines up to update-initramfs",
			}, replaces, options("1002:744c", "amdgpu"), last),
		},
		{
			"and the IOMMU is off: one reboot", map[string]passthrough.Drivers{"0000:03:00.0": {InUse: "amdgpu"}},
			[]string{"0000:03:00.0", "0000:02:00.0"}, "", false,
			"PCI 0000:02:00.0, 0000:03:00.0 on vmhost are in no IOMMU group: the IOMMU is off; PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci",
			slices.Concat(replaces, options("1002:744c", "amdgpu"), []string{amdVi}, last),
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
			fitsATerminal(t, lack.Commands())
		})
	}
}

// TestVirtualFunctionsKeepTheirDriver: a virtual function often has the ID of the physical one, whose driver makes it. So neither goes to vfio-pci by
// its ID, even if a running machine has it.
func TestVirtualFunctionsKeepTheirDriver(t *testing.T) {
	t.Parallel()
	shared := func(address string) passthrough.Device {
		return passthrough.Device{Address: address, ID: "8086:a780", IsDisplay: true, HasGroup: true}
	}
	all := append(devices(true), shared("0000:00:02.0"), shared("0000:00:02.1"), shared("0000:00:02.2"))
	facts := booted(byGRUB, passthrough.Facts{Processor: passthrough.Intel, Kernel: modern})
	facts.Report.Drivers = map[string]passthrough.Drivers{
		"0000:00:02.0": {InUse: "i915"}, "0000:00:02.1": {InUse: "i915"}, "0000:00:02.2": {InUse: passthrough.VFIO}, "0000:03:00.0": {InUse: "amdgpu"},
	}
	require.True(t, passthrough.Of("vmhost", facts, all, []string{"0000:00:02.1"}).IsEmpty())
	lack := passthrough.Of("vmhost", facts, all, []string{"0000:00:02.1", "0000:03:00.0"})
	require.Equal(t, "PCI 0000:03:00.0 on vmhost has the host's driver amdgpu, not vfio-pci", lack.String())
	require.Contains(t, lack.Commands(), "echo 'options vfio-pci ids=1002:744c' > /etc/modprobe.d/vfio.conf")
	// The physical function is a display as any other one.
	lack = passthrough.Of("vmhost", facts, all, []string{"0000:00:02.0"})
	require.Equal(t, "PCI 0000:00:02.0 on vmhost has the host's driver i915, not vfio-pci", lack.String())
	require.Contains(t, lack.Commands(), "echo 'options vfio-pci ids=8086:a780' > /etc/modprobe.d/vfio.conf")
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

// TestReports checks what is read from a report, and that a missing part of it leaves its field empty.
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
