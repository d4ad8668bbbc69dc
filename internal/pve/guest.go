package pve

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The types of guests.
const (
	TypeVM        = "qemu"
	TypeContainer = "lxc"
)

// path returns the path of a guest in the API.
func (g Guest) path(more string) string {
	return nodePath(g.Node, fmt.Sprintf("%s/%d%s", g.Type, g.VMID, more))
}

// snapshotPrefix begins the names of the snapshots that em-infra takes. It removes only those.
const snapshotPrefix = "em-infra-"

// TakeSnapshot takes a snapshot of a guest's disks, without its memory, and then removes older ones that em-infra took, so that keep
// stay. The name begins with em-infra- and ends with suffix.
func (c Connection) TakeSnapshot(ctx context.Context, guest Guest, suffix string, keep int) (name string, err error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	name = snapshotPrefix + suffix
	body := map[string]any{"snapname": name, "description": "before a change by em-infra"}
	if err := c.work(ctx, client, post, guest.path("/snapshot"), body); err != nil {
		return "", fmt.Errorf("no snapshot of %s %d on %s (%w): mend that, or set snapshots: 0 for it", guest.Type, guest.VMID, guest.Node, err)
	}
	ours, err := c.snapshots(ctx, guest)
	if err != nil {
		return name, err
	}
	for len(ours) > max(keep, 1) {
		if err := c.work(ctx, client, remove, guest.path("/snapshot/"+ours[0]), nil); err != nil {
			return name, fmt.Errorf("the snapshot %s of %s %d cannot be removed: %w", ours[0], guest.Type, guest.VMID, err)
		}
		ours = ours[1:]
	}
	return name, nil
}

// snapshots returns the names of the snapshots that em-infra took, the oldest first.
func (c Connection) snapshots(ctx context.Context, guest Guest) ([]string, error) {
	type snapshot struct {
		Name string `json:"name"`
		Time int64  `json:"snaptime"`
	}
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	var taken []snapshot
	if err := client.Get(ctx, guest.path("/snapshot"), &taken); err != nil {
		return nil, c.explain(err)
	}
	slices.SortStableFunc(taken, func(a, b snapshot) int { return cmp.Compare(a.Time, b.Time) })
	var ours []string
	for _, one := range taken {
		if strings.HasPrefix(one.Name, snapshotPrefix) {
			ours = append(ours, one.Name)
		}
	}
	return ours, nil
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
	size, err := rootGiB(config.Root)
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

// rootSize matches the size in the setting of a container's root, such as tank:subvol-200-disk-0,size=8G.
var rootSize = regexp.MustCompile(`(?:^|,)size=(\d+)G(?:,|$)`)

// rootGiB returns the size of a root. One that somebody has made in another unit is no size in GiB.
func rootGiB(setting string) (int, error) {
	match := rootSize.FindStringSubmatch(setting)
	if match == nil {
		return 0, fmt.Errorf("the size of the root %q is not in GiB: grow it with `pct resize` to whole GiB, then run up again", setting)
	}
	return strconv.Atoi(match[1])
}
