package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// drive is a drive of a node's machine with an ISO.
type drive struct {
	key string
	iso pve.ISO
}

// storage returns the name of the storage that its ISO is on.
func (d drive) storage() string {
	storage, _, _ := strings.Cut(d.iso.Volume, ":")
	return storage
}

// isoDrives returns the drives of a node's own machine that contain an ISO: the one that it was made with stays in its drive, and Proxmox
// VE starts no machine whose ISO is gone, although an installed node does not read it any more.
func (found Snapshot) isoDrives(node inventory.Node) (drives []drive) {
	config := found.ownConfig(node)
	guest, _ := found.guest(node.VMID)
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if volume, _, _ := strings.Cut(config[key], ","); isISO(config[key]) {
			drives = append(drives, drive{key, pve.ISO{Host: guest.Node, Volume: volume}})
		}
	}
	return drives
}

// isos starts looking for the ISOs in the nodes' drives.
func (g *gatherer) isos(ctx context.Context) {
	asked := map[pve.ISO]bool{}
	for _, node := range g.subject.Inventory.Nodes {
		for _, drive := range g.found.isoDrives(node) {
			if asked[drive.iso] {
				continue
			}
			asked[drive.iso] = true
			read(g, func() (bool, error) {
				volumes, err := g.reader.Volumes(ctx, drive.iso.Host, drive.storage())
				return slices.ContainsFunc(volumes, func(volume pve.Volume) bool { return volume.ID == drive.iso.Volume }), err
			}, func(isThere Reading[bool]) { g.found.ISOs[drive.iso] = isThere })
		}
	}
}

// checkISOs warns about machines that will not start again. The ISO of the inventory itself is left out: a run brings it back for its
// template.
func checkISOs(s *collector, inv *inventory.Inventory, found Snapshot) {
	for _, node := range inv.Nodes {
		for _, drive := range found.isoDrives(node) {
			isThere, asked := found.ISOs[drive.iso]
			isOurs := drive.storage() == inv.Cluster.Proxmox.ISOStorage && imageOf(drive.iso.Volume).wantedBy(inv, found)
			switch {
			case !asked || isThere.Value || isOurs || errors.Is(isThere.Err, pve.ErrForbidden): // the token may have no access to a storage that was used formerly
			case isThere.Err != nil:
				s.warn("iso", fmt.Sprintf("see `pvesm status` on %s", drive.iso.Host), "whether %s in the drive %s of %s is there cannot be read (%s)",
					drive.iso.Volume, drive.key, node.Name, inOneLine(isThere.Err))
			default:
				s.warn("iso", fmt.Sprintf("empty the drive, which an installed node does not read, as root on %s: `qm set %d --%s none,media=cdrom`", drive.iso.Host, node.VMID, drive.key),
					"%s does not start again once it is off: %s in its drive %s was deleted", node.Name, drive.iso.Volume, drive.key)
			}
		}
	}
}
