package vmconfig

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// DefaultBoot returns the default boot order: the first disk, the first CD-ROM, the first network card (qemu-server
// QemuServer.pm, get_default_bootdevices).
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

// noBoot is the boot order of a VM without bootable devices. Proxmox VE writes "boot: " then, and reads the space as its
// value (qemu-server QemuServer.pm, print_bootorder and parse_vm_config).
const noBoot = " "

// PrintBoot formats a boot order.
func PrintBoot(devices []string) string {
	if len(devices) == 0 {
		return noBoot
	}

	return "order=" + strings.Join(devices, ";")
}

// BootOrder returns the devices of the configured boot order; none for a legacy order.
func (c *Config) BootOrder() []string {
	order, ok := strings.CutPrefix(c.Get("boot"), "order=")
	if !ok {
		return nil
	}

	return schema.SplitList(order)
}

// UniqueTags returns tags in normal form: lower case, sorted, without duplicates, joined by semicolons (pve-guest-common
// GuestHelpers.pm, get_unique_tags).
func UniqueTags(text string) string {
	tags := schema.SplitList(strings.ToLower(text))
	slices.Sort(tags)

	return strings.Join(slices.Compact(tags), ";")
}
