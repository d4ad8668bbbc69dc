package vmconfig

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// DefaultBoot is the boot order of a VM that was created without one: its first disk, its first CD-ROM, its first
// network card (qemu-server QemuServer.pm, get_default_bootdevices).
func (c *Config) DefaultBoot() string {
	var disk, cdrom string

	for _, key := range c.DriveKeys() {
		isCDROM := strings.Contains(c.Get(key), "media=cdrom")

		switch {
		case bus(key) == "efidisk" || bus(key) == "tpmstate":
		case isCDROM && cdrom == "":
			cdrom = key
		case !isCDROM && disk == "":
			disk = key
		}
	}

	devices := slices.DeleteFunc([]string{disk, cdrom}, func(key string) bool { return key == "" })
	if cards := c.NetworkKeys(); len(cards) > 0 {
		devices = append(devices, cards[0])
	}

	return PrintBoot(devices)
}

// noBoot is the order of a VM that has nothing to boot from. Proxmox VE writes "boot: " then, and reads the space as its
// value (qemu-server QemuServer.pm, print_bootorder and parse_vm_config).
const noBoot = " "

// PrintBoot writes a boot order.
func PrintBoot(devices []string) string {
	if len(devices) == 0 {
		return noBoot
	}

	return "order=" + strings.Join(devices, ";")
}

// BootOrder lists the devices of the configured boot order; a legacy order has none.
func (c *Config) BootOrder() []string {
	order, ok := strings.CutPrefix(c.Get("boot"), "order=")
	if !ok {
		return nil
	}

	return schema.SplitList(order)
}

// UniqueTags writes tags in normal form: lower case, sorted, each once, joined by semicolons
// (pve-guest-common GuestHelpers.pm, get_unique_tags).
func UniqueTags(text string) string {
	tags := schema.SplitList(strings.ToLower(text))
	slices.Sort(tags)

	return strings.Join(slices.Compact(tags), ";")
}
