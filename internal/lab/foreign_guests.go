package lab

import (
	"slices"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// foreignGuests are the machines that run another system than Talos: that of a cloud image, or of the ISO of an appliance. They
// react to their power button and answer nothing else; the lab emulates nothing inside them. It is safe for concurrent use.
type foreignGuests struct {
	mu sync.Mutex
	on map[int]bool
}

func newForeignGuests() *foreignGuests { return &foreignGuests{on: map[int]bool{}} }

// powerOn records that a machine is on.
func (g *foreignGuests) powerOn(vmid int) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.on[vmid] = true
}

// powerOff records that a machine is off. It reports whether the machine was one of these.
func (g *foreignGuests) powerOff(vmid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	was := g.on[vmid]
	delete(g.on, vmid)

	return was
}

// bootsOtherSystem reports whether the first bootable drive of a machine has another system than Talos. A disk that began blank
// has what was installed on it: Talos, unless its origin is the ISO of another system; an ISO is Talos' unless it stands in for another one.
func bootsOtherSystem(m proxmox.Machine) bool {
	for _, drive := range bootOrder(m) {
		if drive == m.ISODrive && m.ISO != "" {
			return m.ISOOrigin != ""
		}
		if slices.ContainsFunc(m.Disks, func(d proxmox.Disk) bool { return d.Slot == drive && d.Origin != "" }) {
			return true
		}
	}
	return false
}

// bootOrder returns the drives that a machine boots from: without an order, its disks and then the CD-ROM drive.
func bootOrder(m proxmox.Machine) []string {
	if len(m.BootsFrom) > 0 {
		return m.BootsFrom
	}
	var order []string
	for _, disk := range m.Disks {
		order = append(order, disk.Slot)
	}
	return append(order, m.ISODrive)
}
