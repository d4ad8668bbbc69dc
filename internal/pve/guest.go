package pve

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// The types of guests.
const (
	TypeVM        = "qemu"
	TypeContainer = "lxc"
)

// String returns the guest as Proxmox VE shows it: VM 210 on vmhost.
func (g Guest) String() string { return g.named() + " on " + g.Node }

// named returns the guest without its host: VM 210.
func (g Guest) named() string {
	if g.Type == TypeContainer {
		return fmt.Sprintf("CT %d", g.VMID)
	}
	return fmt.Sprintf("VM %d", g.VMID)
}

// path returns the path of a guest in the API.
func (g Guest) path(more string) string {
	return nodePath(g.Node, fmt.Sprintf("%s/%d%s", g.Type, g.VMID, more))
}

// GrowRoot grows the root of a container to a size in GiB, and reports whether it did. A root that has that size is left alone, one that is
// larger is an error: it cannot shrink.
func (c Connection) GrowRoot(ctx context.Context, guest Guest, sizeGiB int) (bool, error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	var config struct {
		Root string `json:"rootfs"`
	}
	if err := client.Get(ctx, guest.path("/config"), &config); err != nil {
		return false, c.explain(err)
	}
	size, err := RootGiB(config.Root)
	switch {
	case err != nil:
		return false, err
	case size == sizeGiB:
		return false, nil
	case size > sizeGiB:
		return false, fmt.Errorf("the root of CT %d on %s has %d GiB and cannot shrink to %d: set diskGiB back to %[3]d, or replace the container", guest.VMID, guest.Node, size, sizeGiB)
	}
	err = c.work(ctx, client, put, guest.path("/resize"), map[string]any{"disk": "rootfs", "size": fmt.Sprintf("%dG", sizeGiB)})
	if err != nil {
		return false, fmt.Errorf("the root of CT %d on %s cannot grow to %d GiB (%w): mend that, then run up again", guest.VMID, guest.Node, sizeGiB, err)
	}
	return true, nil
}

// rootSize matches the size in the setting of a container's root, such as tank:subvol-200-disk-0,size=8G. Proxmox VE writes the largest
// unit that divides a size (pve-common 9.0, JSONSchema.pm, format_size): 1024 GiB are 1T.
var rootSize = regexp.MustCompile(`(?:^|,)size=(\d+)([MGT])(?:,|$)`)

// RootGiB returns the size of a root in GiB. It returns an error for a size that is not in whole GiB, as a person may have made one.
func RootGiB(setting string) (int, error) {
	const step = 1024 // between two units
	wrong := fmt.Errorf("the size of the root %q is not in GiB: grow it with `pct resize` to whole GiB, then run up again", setting)
	match := rootSize.FindStringSubmatch(setting)
	if match == nil {
		return 0, wrong
	}
	size, err := strconv.Atoi(match[1])
	switch unit := match[2]; {
	case err != nil: // more digits than a number has
		return 0, wrong
	case unit == "T":
		return size * step, nil
	case unit == "G":
		return size, nil
	case size%step != 0:
		return 0, wrong
	default:
		return size / step, nil
	}
}

// growsRoot matches the Command of a container's root: em-infra container grow HOST VMID GIB.
var growsRoot = regexp.MustCompile(` container grow \S+ \d+ (\d+)$`)

// GrownGiB returns the size in GiB that a Command grows the root of a container to; 0 if the text is no such Command.
func GrownGiB(command string) int {
	match := growsRoot.FindStringSubmatch(command)
	if match == nil {
		return 0
	}
	size, err := strconv.Atoi(match[1])
	if err != nil { // more digits than a number has
		return 0
	}
	return size
}
