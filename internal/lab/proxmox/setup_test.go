package proxmox_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// nodeReport returns the report of the host.
func (l *lab) nodeReport() string {
	l.t.Helper()

	var text string

	l.ok(http.MethodGet, "/nodes/vmhost/report", nil, &text)

	return text
}

// groups returns the IOMMU group of each device.
func (l *lab) groups() map[string]int {
	l.t.Helper()

	var devices []struct {
		ID         string
		IOMMUGroup int
	}

	l.ok(http.MethodGet, "/nodes/vmhost/hardware/pci", nil, &devices)

	groups := map[string]int{}
	for _, d := range devices {
		groups[d.ID] = d.IOMMUGroup
	}

	return groups
}

// A host whose IOMMU is off has no groups, and starts no VM with a device; the set-up outlives a restart.
func TestAnIOMMUThatIsOff(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			file := filepath.Join(t.TempDir(), "state.json")
			configure := func(c *proxmox.Config) {
				c.Release, c.StateFile = release, file
				c.Hosts[0].PCI[0].Mapping = "card"
				c.Tokens[0].Privileges = proxmox.OperatorPrivileges(release)
			}
			l := newLab(t, configure)
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 hostpci0=mapping=card"))
			require.Equal(t, 12, l.groups()["0000:01:00.0"])

			require.NoError(t, l.server.SetUp("vmhost", proxmox.SetupChange{IOMMU: new(false), Drivers: map[string]string{"0000:01:00.0": "nouveau"}}))
			require.Equal(t, -1, l.groups()["0000:01:00.0"])
			require.Contains(t, l.nodeReport(), "\tKernel driver in use: nouveau\n")
			require.Equal(t, "PCI device mapping invalid (hardware probably changed): unexpected property 'iommugroup' configured for device '0000:01:00.0'",
				l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))

			require.NoError(t, l.server.Close())
			l = newLab(t, configure)
			require.Equal(t, -1, l.groups()["0000:01:00.0"], "a setup stays")
			require.NoError(t, l.server.SetUp("vmhost", proxmox.SetupChange{IOMMU: new(true), Drivers: map[string]string{"0000:01:00.0": ""}}))
			require.Equal(t, 12, l.groups()["0000:01:00.0"])
			require.NotContains(t, l.nodeReport(), "Kernel driver in use")
			require.Equal(t, "OK", l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
		})
	}
}

// Only hosts and devices that are there are set up.
func TestSetUpsThatAreRefused(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	err := l.server.SetUp("vmhots", proxmox.SetupChange{IOMMU: new(false)})
	require.ErrorIs(t, err, hardware.ErrInvalid)
	require.EqualError(t, err, `lab host: there is no "vmhots": choose one of vmhost, vmhost2`)
	err = l.server.SetUp("vmhost", proxmox.SetupChange{Drivers: map[string]string{"0000:99:00.0": "nouveau"}})
	require.ErrorIs(t, err, hardware.ErrInvalid)
	require.EqualError(t, err, "lab host: vmhost: pci device '0000:99:00.0' not found")
	require.Equal(t, 12, l.groups()["0000:01:00.0"])
}

// The report has the command line that the boot loader gives the kernel, and what proxmox-boot-tool prints.
func TestBootLoadersInTheReport(t *testing.T) {
	t.Parallel()

	const noTool = "E: /etc/kernel/proxmox-boot-uuids does not exist.\n"

	tests := map[string]struct {
		setup      proxmox.Setup
		line, tool string
		mode       string
		secureBoot *int
	}{
		"as installed": {
			line: "BOOT_IMAGE=/boot/vmlinuz-6.8.12-9-pve root=/dev/mapper/pve-root ro quiet\n", tool: noTool, mode: "efi", secureBoot: new(0),
		},
		"ZFS": {
			setup: proxmox.Setup{ZFS: true, KernelOptions: "intel_iommu=on", Kernel: "6.5.13-6-pve"},
			line:  `initrd=\EFI\proxmox\6.5.13-6-pve\initrd.img-6.5.13-6-pve root=ZFS=rpool/ROOT/pve-1 boot=zfs intel_iommu=on` + "\n",
			tool:  "System currently booted with uefi\n5A3C-77E1 is configured with: uefi (versions: 6.5.13-6-pve)\n", mode: "efi", secureBoot: new(0),
		},
		"ZFS and Secure Boot": {
			setup: proxmox.Setup{ZFS: true, SecureBoot: true}, line: "BOOT_IMAGE=/vmlinuz-6.8.12-9-pve root=ZFS=rpool",
			tool: "is configured with: grub", mode: "efi", secureBoot: new(1),
		},
		"ZFS and legacy BIOS": {
			setup: proxmox.Setup{ZFS: true, LegacyBIOS: true}, line: "BOOT_IMAGE=/vmlinuz-6.8.12-9-pve root=ZFS=rpool",
			tool: "System currently booted with legacy bios\n5A3C-77E1 is configured with: grub", mode: "legacy-bios",
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, func(c *proxmox.Config) { c.Hosts[0].Setup = test.setup })
			report := l.nodeReport()
			require.Contains(t, report, "\n# cat /proc/cmdline\n"+test.line)
			require.Contains(t, report, test.tool)

			var status struct {
				Boot struct {
					Mode       string
					SecureBoot *int
				} `json:"boot-info"`
			}

			l.ok(http.MethodGet, "/nodes/vmhost/status", nil, &status)
			require.Equal(t, test.mode, status.Boot.Mode)
			require.Equal(t, test.secureBoot, status.Boot.SecureBoot)
		})
	}
}

// Without ifupdown2, which a host on Debian may lack, the network is staged but not reloaded.
func TestAHostWithoutIfupdown2(t *testing.T) {
	t.Parallel()

	for _, lacks := range []bool{false, true} {
		l := newLab(t, func(c *proxmox.Config) { c.Hosts[0].Setup.NoIfupdown2 = lacks })

		var packages []struct{ Package, CurrentState string }

		l.ok(http.MethodGet, "/nodes/vmhost/apt/versions", nil, &packages)

		installed := false
		for _, p := range packages {
			installed = installed || p.Package == "ifupdown2" && p.CurrentState == "Installed"
		}

		require.Equal(t, !lacks, installed)

		if lacks {
			require.Equal(t, "500 you need ifupdown2 to reload network configuration", l.do(http.MethodPut, "/nodes/vmhost/network", nil).Status)
		}
	}
}
