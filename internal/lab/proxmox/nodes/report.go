package nodes

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// getReport handles GET /nodes/{node}/report: a part of the sections and commands of a real report (pve-manager, PVE/Report.pm).
func (s *Service) getReport(c *api.Call) (any, error) {
	host, _ := s.env.Nodes.Host(c.Node)

	s.mu.Lock()
	names := s.hostsOf(c.Node)
	s.mu.Unlock()

	var text strings.Builder

	section := func(title string) { fmt.Fprintf(&text, "\n==== %s ====\n", title) }
	command := func(words, output string) { fmt.Fprintf(&text, "\n# %s\n%s\n", words, output) }

	section("general system info")
	command("hostname", host.Name)
	command("cat /proc/cmdline", s.commandLine(host))
	command("cat /etc/hosts", strings.TrimSuffix(names, "\n"))
	section("info about storage")
	command("proxmox-boot-tool status", s.bootTool(host))
	section("info about hardware")
	command("lspci -nnk", lspci(host))

	return text.String(), nil
}

// commandLine returns the options with which the kernel of a host was started: by GRUB, which names the kernel first, or by systemd-boot.
func (s *Service) commandLine(host hardware.Host) string {
	kernel := s.kernelOf(host)

	line := fmt.Sprintf("BOOT_IMAGE=/boot/vmlinuz-%s root=/dev/mapper/pve-root ro quiet", kernel)

	switch setup := host.Setup; {
	case setup.SystemdBoot():
		line = fmt.Sprintf(`initrd=\EFI\proxmox\%[1]s\initrd.img-%[1]s root=ZFS=rpool/ROOT/pve-1 boot=zfs`, kernel)
	case setup.ZFS:
		line = fmt.Sprintf("BOOT_IMAGE=/vmlinuz-%s root=ZFS=rpool/ROOT/pve-1 ro root=ZFS=rpool/ROOT/pve-1 boot=zfs quiet", kernel)
	}

	return strings.TrimSpace(line + " " + host.Setup.KernelOptions)
}

// bootTool returns what proxmox-boot-tool prints on a host. The tool is in use with ZFS only.
func (s *Service) bootTool(host hardware.Host) string {
	if !host.Setup.ZFS {
		return "Re-executing '/usr/sbin/proxmox-boot-tool' in new private mount namespace..\nE: /etc/kernel/proxmox-boot-uuids does not exist."
	}

	booted, loader := "uefi", "grub"
	if host.Setup.LegacyBIOS {
		booted = "legacy bios"
	}

	if host.Setup.SystemdBoot() {
		loader = "uefi"
	}

	return fmt.Sprintf("Re-executing '/usr/sbin/proxmox-boot-tool' in new private mount namespace..\nSystem currently booted with %s\n"+
		"5A3C-77E1 is configured with: %s (versions: %s)", booted, loader, s.kernelOf(host))
}

// classNames are the names of PCI classes (pci.ids).
var classNames = map[string]string{
	"0300": "VGA compatible controller", "0302": "3D controller", "0403": "Audio device", "0200": "Ethernet controller",
}

// lspci returns the devices of a host as `lspci -nnk` lists them. It leaves out the domain, as all devices of the lab are in domain 0.
func lspci(host hardware.Host) string {
	var lines []string

	for _, d := range host.PCI {
		class := hardware.BareHex(d.Class)[:4]

		name := classNames[class]
		if name == "" {
			name = "Class"
		}

		id := func(vendor, device string) string { return hardware.BareHex(vendor) + ":" + hardware.BareHex(device) }

		lines = append(lines, fmt.Sprintf("%s %s [%s]: %s %s [%s] (rev a1)",
			strings.TrimPrefix(d.Address, "0000:"), name, class, d.VendorName, d.DeviceName, id(d.Vendor, d.Device)))

		if d.SubsystemVendor != "" {
			lines = append(lines, fmt.Sprintf("\tSubsystem: Device [%s]", id(d.SubsystemVendor, d.SubsystemDevice)))
		}

		if driver := host.Setup.Drivers[d.Address]; driver != "" {
			lines = append(lines, "\tKernel driver in use: "+driver)
		}

		if class[:2] == "03" && hardware.BareHex(d.Vendor) == "10de" {
			lines = append(lines, "\tKernel modules: nvidiafb, nouveau")
		}
	}

	return strings.Join(lines, "\n")
}
