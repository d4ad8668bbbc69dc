package preflight_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// onPVE1 is the remedy of a finding that a person ends on pve1.
const onPVE1 = "run these commands on pve1 as root, which the API of Proxmox VE cannot do, then run `em-infra preflight`"

// vfioCommands give the card of pve1, its only display, to vfio-pci.
var vfioCommands = []string{
	"# no display is left to the host: its screen stays black from the",
	"# reboot on, so check first that you reach the host by SSH",
	"# vfio.conf is replaced: if this shows more IDs or options of vfio-pci,",
	"# add them to the new vfio.conf and remove them there:",
	"grep -rsE 'vfio[-_]pci' /etc/modprobe.d /proc/cmdline",
	"cp -a --backup=numbered /etc/modprobe.d/vfio.conf /etc/modprobe.d/vfio.conf.before 2>/dev/null || true",
	"echo 'options vfio-pci ids=10de:2204,10de:1aef' > /etc/modprobe.d/vfio.conf",
	"echo 'softdep nouveau pre: vfio-pci' >> /etc/modprobe.d/vfio.conf",
	"update-initramfs -u -k all",
}

// The commands that turn on the IOMMU of an Intel host: with an older kernel one of kernelInGRUB and kernelInSystemd, then always the firmware.
var (
	kernelInGRUB = append([]string{
		`sed -i '/intel_iommu=on/!s/^GRUB_CMDLINE_LINUX_DEFAULT="/&intel_iommu=on /' /etc/default/grub`,
	}, updateGRUB...)
	updateGRUB = []string{
		"# if this does not show the change, edit the line that it shows:", "grep -rsn CMDLINE_LINUX /etc/default/grub /etc/default/grub.d", "update-grub",
	}
	kernelInSystemd = []string{`sed -i '1{/intel_iommu=on/!s/$/ intel_iommu=on/}' /etc/kernel/cmdline`, "proxmox-boot-tool refresh"}
	inFirmware      = []string{"# at this reboot, in the firmware's set-up: turn on VT-d (IOMMU)", "reboot"}
	reboot          = []string{"reboot"}
)

// TestFindingsAboutPassthrough: what machines need of a host and no API gives, with the commands for that host.
func TestFindingsAboutPassthrough(t *testing.T) {
	t.Parallel()
	byMapping := strings.Replace(nodesYAML, `{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}`, "{mapping: rtx}", 1)
	off := func(h *preflight.Host) { h.Devices.Value[0].IOMMUGroup, h.Devices.Value[1].IOMMUGroup = -1, -1 }
	held := func(h *preflight.Host) {
		h.Passthrough.Value.Report.Drivers = map[string]passthrough.Drivers{"0000:01:00.0": {InUse: "nouveau"}}
	}
	for _, test := range []struct {
		name  string
		nodes string
		alter func(*preflight.Host)
		want  preflight.Check
	}{
		{"IOMMU off", nodesYAML, off, preflight.Check{
			Result: preflight.Fail, Sentence: "PCI 0000:01:00.0 on pve1 is in no IOMMU group: the IOMMU is off", Remedy: onPVE1, Commands: slices.Concat(kernelInGRUB, inFirmware),
		}},
		{"IOMMU off, behind a mapping that Proxmox VE finds wrong for that", byMapping, func(h *preflight.Host) {
			off(h)
			h.Mappings.Value = mapping(rtxEntry)
			h.Mappings.Value[0].Checks = []pve.MappingCheck{{Severity: "error", Message: "unexpected property 'iommugroup' configured for device '0000:01:00.0'\n"}}
		}, preflight.Check{
			Result: preflight.Fail, Sentence: "PCI 0000:01:00.0 on pve1 is in no IOMMU group: the IOMMU is off", Remedy: onPVE1, Commands: slices.Concat(kernelInGRUB, inFirmware),
		}},
		{"a driver of the host", nodesYAML, held, preflight.Check{
			Result: preflight.Warn, Sentence: "PCI 0000:01:00.0 on pve1 has the host's driver nouveau, not vfio-pci", Remedy: onPVE1, Commands: slices.Concat(vfioCommands, reboot),
		}},
		{"both, with one reboot", nodesYAML, func(h *preflight.Host) { off(h); held(h) }, preflight.Check{
			Result:   preflight.Fail,
			Sentence: "PCI 0000:01:00.0 on pve1 is in no IOMMU group: the IOMMU is off; PCI 0000:01:00.0 on pve1 has the host's driver nouveau, not vfio-pci",
			Remedy:   onPVE1, Commands: slices.Concat(kernelInGRUB, vfioCommands, inFirmware),
		}},
		{"a report that does not come", nodesYAML, func(h *preflight.Host) {
			h.Passthrough.Value.Report, h.Passthrough.Value.ReportErr = passthrough.Report{}, errors.New("596 Connection timed out")
		}, preflight.Check{
			Result: preflight.Warn, Sentence: "which driver has PCI 0000:01:00.0 on pve1 cannot be read (596 Connection timed out)",
			Remedy: "look with `lspci -nnk` on pve1: its driver must be vfio-pci, or none",
		}},
		{"a report without devices", nodesYAML, func(h *preflight.Host) { h.Passthrough.Value.Report = passthrough.Report{} }, preflight.Check{
			Result: preflight.Warn, Sentence: "which driver has PCI 0000:01:00.0 on pve1 cannot be read (its report does not list them)",
			Remedy: "look with `lspci -nnk` on pve1: its driver must be vfio-pci, or none",
		}},
		{"a status that does not come", nodesYAML, func(h *preflight.Host) { h.Passthrough.Err = pve.ErrForbidden }, preflight.Check{
			Result: preflight.Fail, Sentence: "the status of pve1 cannot be read (the token may not read it)",
			Remedy: "see that the host answers and that the token has the role that `em-infra role` prints",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, found := sound(t)
			change(&found, "pve1", test.alter)
			test.want.Name = "gpu"
			require.Equal(t, preflight.Report{test.want}, preflight.Evaluate(inventoryOf(t, clusterYAML, test.nodes), found).Unsound())
		})
	}
}

// TestWhatHostsNeedByHand: the commands are for that host, and nothing is printed once they have done their work.
func TestWhatHostsNeedByHand(t *testing.T) {
	t.Parallel()
	device := hosts.MappedDevice{Host: "pve1", BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b", IOMMUGroup: 12}
	second := device
	second.BDF, second.IOMMUGroup = "0000:02:00.0", 13
	sound := cardOfPVE1
	sound.Address, sound.Class, sound.Device = "0000:01:00.1", "0x040300", "0x1aef"
	twoCards := []hosts.Mapping{{Name: "gpu", Devices: []hosts.MappedDevice{device, second}}}
	for _, test := range []struct {
		name     string
		setup    proxmox.Setup
		mappings []hosts.Mapping
		network  bool
		fault    string
		want     preflight.Report
	}{
		{name: "nothing", mappings: twoCards, network: true},
		{
			name: "an IOMMU, on Intel with systemd-boot and an older kernel", mappings: twoCards,
			setup: proxmox.Setup{IOMMUOff: true, ZFS: true, Kernel: "6.5.13-6-pve"},
			want: preflight.Report{{
				Name: "mapping", Result: preflight.Warn, Sentence: "PCI 0000:01:00.0, 0000:02:00.0 on pve1 are in no IOMMU group: the IOMMU is off", Remedy: onPVE1,
				Commands: slices.Concat(kernelInSystemd, inFirmware),
			}},
		},
		{
			name: "an option of the kernel", mappings: twoCards, setup: proxmox.Setup{IOMMUOff: true, KernelOptions: "intel_iommu=off"},
			want: preflight.Report{{
				Name: "mapping", Result: preflight.Warn, Sentence: "PCI 0000:01:00.0, 0000:02:00.0 on pve1 are in no IOMMU group: the IOMMU is off", Remedy: onPVE1,
				Commands: slices.Concat([]string{`sed -i '/^GRUB_CMDLINE_LINUX/s/ *\bintel_iommu=off\b//g' /etc/default/grub`}, updateGRUB, inFirmware),
			}},
		},
		{
			name: "a card without the host's driver", mappings: twoCards, setup: proxmox.Setup{Drivers: map[string]string{"0000:01:00.0": "nouveau", "0000:02:00.0": "vfio-pci"}},
			want: preflight.Report{{
				Name: "mapping", Result: preflight.Warn, Sentence: "PCI 0000:01:00.0 on pve1 has the host's driver nouveau, not vfio-pci", Remedy: onPVE1,
				Commands: slices.Concat(vfioCommands[:8], []string{"echo 'softdep nvidiafb pre: vfio-pci' >> /etc/modprobe.d/vfio.conf"}, vfioCommands[8:], reboot),
			}},
		},
		{
			name: "a report, so both ways", mappings: twoCards, setup: proxmox.Setup{IOMMUOff: true, Kernel: "6.5.13-6-pve"}, fault: "/nodes/{node}/report",
			want: preflight.Report{{
				Name: "mapping", Result: preflight.Warn, Sentence: "PCI 0000:01:00.0, 0000:02:00.0 on pve1 are in no IOMMU group: the IOMMU is off", Remedy: onPVE1,
				Commands: slices.Concat(
					[]string{"# if `efibootmgr -v` names grubx64.efi or shimx64.efi, it is GRUB:"}, kernelInGRUB,
					[]string{"# if it names systemd-bootx64.efi, it is systemd-boot, so instead:"}, kernelInSystemd, inFirmware,
				),
			}, {
				Name: "mapping", Result: preflight.Warn, Sentence: "which driver has PCI 0000:01:00.0 on pve1 cannot be read (the token may not read it)",
				Remedy: "look with `lspci -nnk` on pve1: its driver must be vfio-pci, or none",
			}, {
				Name: "mapping", Result: preflight.Warn, Sentence: "which driver has PCI 0000:02:00.0 on pve1 cannot be read (the token may not read it)",
				Remedy: "look with `lspci -nnk` on pve1: its driver must be vfio-pci, or none",
			}},
		},
		{name: "ifupdown2, and nothing is to be reloaded", setup: proxmox.Setup{NoIfupdown2: true}},
		{
			name: "ifupdown2", network: true, setup: proxmox.Setup{NoIfupdown2: true},
			want: preflight.Report{{
				Name: "network", Result: preflight.Fail, Sentence: "pve1 has no ifupdown2, without which Proxmox VE does not reload a changed network", Remedy: onPVE1,
				Commands: []string{"apt update", "apt install ifupdown2"},
			}},
		},
		{
			name: "a list of packages", network: true, fault: "/nodes/{node}/apt/versions",
			want: preflight.Report{{
				Name: "network", Result: preflight.Fail, Sentence: "the packages of pve1 cannot be read (the token may not read it)",
				Remedy: "see that the host answers and that the token has the role that `em-infra role` prints",
			}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := forSystems(emulatedConfig(schema.Release91))
			twin := cardOfPVE1
			twin.Address, twin.IOMMUGroup = "0000:02:00.0", 13
			config.Hosts[0].PCI, config.Hosts[0].Setup, config.Hosts[0].CPUModel = []proxmox.PCIDevice{cardOfPVE1, sound, twin}, test.setup, "Intel(R) Xeon(R)"
			if test.fault != "" {
				faults := fault.NewSet([32]byte{}, proxmox.FaultKinds())
				require.NoError(t, faults.Set(fault.Fault{Name: "forbidden", Endpoint: test.fault}))
				config.Faults = proxmox.NewFaultSet(pace.Pace{}, faults)
			}
			emulated, calls := emulate(t, config)
			subject := preflight.HostsSubject{
				Inventory: &hosts.Inventory{File: hosts.File{Hosts: []hosts.Host{{Name: "pve1"}}, Mappings: test.mappings}}, Host: emulated.Host,
			}
			if test.network {
				subject.Networks = []hostspec.Network{{Node: "pve1", Interfaces: []hostspec.Interface{{Name: "vmbr9"}}}}
			}
			report, err := preflight.Hosts(t.Context(), subject)
			require.NoError(t, err)
			if test.want == nil {
				test.want = preflight.Report{}
			}
			require.Equal(t, test.want, report.Unsound())
			require.Equal(t, []string{http.MethodGet}, slices.Sorted(maps.Keys(calls.verbs(t))))
		})
	}
}

// TestChecksAsText: the commands stand below the remedy, to be copied.
func TestChecksAsText(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	report := preflight.Report{
		{Name: "host", Result: preflight.OK, Sentence: "host pve1 is online"},
		{Name: "mapping", Result: preflight.Warn, Sentence: "the IOMMU is off", Remedy: "do this on pve1", Commands: []string{"# firmware", "reboot"}},
	}
	report.WriteText(&text)
	require.Equal(t, " ok    host pve1 is online\n warn  the IOMMU is off\n       → do this on pve1\n         # firmware\n         reboot\n", text.String())
	require.Equal(t, report[1:], report.ByHand())
}
