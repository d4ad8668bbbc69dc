package status

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
)

// Orphan is something of this cluster on the host that is unused and not in the state.
type Orphan struct {
	// What it is, in words.
	What string `json:"what"`
	// Host that it lies on.
	Host string `json:"host"`
	// Remove is the command that deletes it, to be run there; empty for a machine that runs, whose data may exist
	// nowhere else.
	Remove string `json:"remove,omitempty"`
	// Do is what to do instead of that.
	Do string `json:"do,omitempty"`
}

// At returns the orphan with its commands completed for a place. The commands of a lab already contain where to run them.
func (o Orphan) At(place remedy.Place) Orphan {
	o.Do = place.Complete(o.Do)
	if do := place.Complete(fmt.Sprintf("`%s` on %s", o.Remove, o.Host)); place.Lab != "" && !strings.Contains(do, o.Remove) {
		o.Remove, o.Do = "", "if it is no longer needed: "+do
	}
	return o
}

func (o Orphan) remedy() string {
	if o.Remove == "" {
		return o.Do
	}
	return fmt.Sprintf("on %s, if it is no longer needed: %s", o.Host, o.Remove)
}

// Ours is what the inventory and the state contain.
type Ours struct {
	// Owner is the stack with its cluster, as in the description of each of our machines.
	Owner ownership.Owner
	// VMIDs are the VMIDs in the state.
	VMIDs []int
	// Named maps the VMIDs of the inventory to the names of their machines, templates included.
	Named map[int]string
	// ISO are the ISOs that the templates boot now, as in local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso.
	ISO []string
}

// Orphans returns, in this order: machines that are not in the state, disks without a machine, disks that our machines no longer use, and ISOs that
// no machine boots. A machine is ours only if its description says so, because a copy of a stack has the same names and VMIDs. A machine without a
// mark, from a release before the marks, is ours if it is in the state. A disk is no orphan while the token does not see all guests, since its
// machine may be one of the others. An ISO is no orphan while the configuration of any guest is not known, since that guest may name it.
func (o Ours) Orphans(found Found) []Orphan {
	orphans := o.lostMachines(found)
	if !found.Partial {
		orphans = append(orphans, lostDisks(found)...)
	}
	orphans = append(orphans, o.unusedDisks(found)...)
	if found.unseen() == "" {
		orphans = append(orphans, o.unusedISOs(found)...)
	}
	return orphans
}

// Unclear returns what is not known about orphans, a sentence each.
func (o Ours) Unclear(found Found) []string {
	var unclear []string
	if found.Partial && len(lostDisks(found)) > 0 {
		unclear = append(unclear, "which disks belong to no machine: "+partial)
	}
	if unseen := found.unseen(); unseen != "" && len(o.unusedISOs(found)) > 0 {
		unclear = append(unclear, "which ISOs no machine boots: "+unseen)
	}
	isUnknown := func(guest pve.Guest) bool { return guest.Type == pve.TypeVM && !slices.Contains(o.VMIDs, guest.VMID) }
	if unread := found.unread(isUnknown); len(unread) > 0 {
		unclear = append(unclear, "which machines of the stack the state does not know: "+strings.Join(unread, ", "))
	}
	return unclear
}

func (o Ours) owns(guest pve.Guest, found Found) bool {
	if guest.Type != "qemu" {
		return false
	}
	owner, isMarked := ownership.In(found.Configs[guest.VMID]["description"])
	if isMarked {
		return owner == o.Owner
	}
	return slices.Contains(o.VMIDs, guest.VMID) && o.Named[guest.VMID] == guest.Name
}

func (o Ours) lostMachines(found Found) (orphans []Orphan) {
	for _, guest := range found.Guests {
		if o.owns(guest, found) && !slices.Contains(o.VMIDs, guest.VMID) {
			orphans = append(orphans, o.lostMachine(guest))
		}
	}
	return orphans
}

func (o Ours) lostMachine(guest pve.Guest) Orphan {
	orphan := Orphan{What: fmt.Sprintf("VM %d (%s): the state does not know it", guest.VMID, guest.Name), Host: guest.Node}
	switch {
	case o.Named[guest.VMID] == guest.Name:
		orphan.Do = "run `em-infra up`, which takes it into the state"
	case guest.Status != "stopped":
		orphan.What += ", and it runs"
		orphan.Do = "put the state that knows it back with `em-infra state restore`, or give it its place in nodes.yaml; if it is no longer needed, shut it down, and look again"
	default:
		orphan.Remove = fmt.Sprintf("qm destroy %d --purge", guest.VMID)
	}
	return orphan
}

// lostDisks returns the disks on our storages whose VMID no guest has. Their owner is not known.
func lostDisks(found Found) (orphans []Orphan) {
	for _, host := range sorted(found.Volumes) {
		for _, volume := range found.Volumes[host] {
			if volume.VMID == 0 || volume.Content != "images" || found.has(int(volume.VMID)) {
				continue
			}
			orphans = append(orphans, lostDisk(host, volume))
		}
	}
	return orphans
}

func lostDisk(host string, volume pve.Volume) Orphan {
	return Orphan{
		What:   fmt.Sprintf("disk %s (%s): there is no VM %d", volume.ID, gibibytes(volume.Bytes), volume.VMID),
		Host:   host,
		Remove: "pvesm free " + volume.ID,
	}
}

// unusedKey matches the settings in which Proxmox VE records detached disks.
var unusedKey = regexp.MustCompile(`^unused\d+$`)

func (o Ours) unusedDisks(found Found) (orphans []Orphan) {
	for _, guest := range found.Guests {
		if !o.owns(guest, found) {
			continue
		}
		config := found.Configs[guest.VMID]
		for _, key := range sorted(config) {
			if unusedKey.MatchString(key) {
				orphans = append(orphans, Orphan{
					What:   fmt.Sprintf("disk %s: VM %d (%s) does not use it any more", config[key], guest.VMID, guest.Name),
					Host:   guest.Node,
					Remove: fmt.Sprintf("qm disk unlink %d --idlist %s --force", guest.VMID, key),
				})
			}
		}
	}
	return orphans
}

// isoName matches the names of the ISOs that the program downloads (components, image.isoFile).
var isoName = regexp.MustCompile(`:iso/talos-v[^/]+-nocloud-[0-9a-f]{16}-amd64\.iso$`)

// unclaimed is how long an ISO may be on its host before a template boots it: another stack may just have downloaded it.
const unclaimed = time.Hour

func (o Ours) unusedISOs(found Found) (orphans []Orphan) {
	for _, host := range sorted(found.Volumes) {
		for _, volume := range found.Volumes[host] {
			isNew := found.Time.Sub(time.Unix(volume.Created, 0)) < unclaimed && volume.Created != 0
			if !isoName.MatchString(volume.ID) || slices.Contains(o.ISO, volume.ID) || found.names(volume.ID) || isNew {
				continue
			}
			orphans = append(orphans, Orphan{
				What:   fmt.Sprintf("%s (%s): no machine boots it", volume.ID, gibibytes(volume.Bytes)),
				Host:   host,
				Remove: "pvesm free " + volume.ID,
			})
		}
	}
	return orphans
}

func sorted[M ~map[K]V, K cmp.Ordered, V any](m M) []K { return slices.Sorted(maps.Keys(m)) }

func gibibytes(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
