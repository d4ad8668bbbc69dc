package model

import (
	"maps"
	"slices"
)

// Keeper records what must not be lost: machines that ran, with their disks, members of etcd, and the life's objects in etcd.
type Keeper struct {
	disks    map[int][]string
	members  map[string]bool
	canaries map[string]bool
	given    map[int]bool
}

// NewKeeper returns an empty Keeper.
func NewKeeper() *Keeper {
	return &Keeper{disks: map[int][]string{}, members: map[string]bool{}, canaries: map[string]bool{}, given: map[int]bool{}}
}

// Remember records the current state.
func (k *Keeper) Remember(seen Seen) {
	for _, m := range seen.Machines {
		if !m.Running || m.Template {
			continue
		}
		delete(k.given, m.VMID)
		k.disks[m.VMID] = nil
		for _, disk := range m.Disks {
			k.disks[m.VMID] = append(k.disks[m.VMID], disk.Identity)
		}
	}
	for _, name := range seen.Members {
		k.members[name] = true
	}
	for _, canary := range seen.Canaries {
		k.canaries[canary] = true
	}
}

// GiveUp allows the loss of a machine from now on: the user confirmed a plan that names it, or it is deleted by hand.
func (k *Keeper) GiveUp(vmid int) { k.given[vmid] = true }

// GiveUpMember allows the loss of a member of etcd from now on.
func (k *Keeper) GiveUpMember(name string) { delete(k.members, name) }

// Canaries returns the life's objects in etcd, sorted.
func (k *Keeper) Canaries() []string { return slices.Sorted(maps.Keys(k.canaries)) }

// GoBack allows the loss of all objects in etcd but these, as by a restore of the snapshot that has them.
func (k *Keeper) GoBack(canaries []string) {
	maps.DeleteFunc(k.canaries, func(name string, _ bool) bool { return !slices.Contains(canaries, name) })
}

// GiveUpAll allows the loss of everything from now on, as by a destroy.
func (k *Keeper) GiveUpAll() { *k = *NewKeeper() }

// Lost returns what was lost. The content of etcd is checked only while Kubernetes answers.
func (k *Keeper) Lost(seen Seen) []Violation {
	b := &broken{invariant: Kept}
	there := map[int]Machine{}
	for _, m := range seen.Machines {
		there[m.VMID] = m
	}
	for _, vmid := range slices.Sorted(maps.Keys(k.disks)) {
		m, found := there[vmid]
		switch {
		case k.given[vmid]:
		case !found:
			b.say("VM %d is lost, and no plan that was consented to named it", vmid)
		default:
			k.disksOf(b, vmid, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.members)) {
		if len(seen.Members) > 0 && !slices.Contains(seen.Members, name) {
			b.say("etcd has lost the member %s", name)
		}
	}
	for _, canary := range slices.Sorted(maps.Keys(k.canaries)) {
		if seen.Unreachable == "" && !slices.Contains(seen.Canaries, canary) {
			b.say("etcd has lost %s", canary)
		}
	}
	return b.found
}

func (k *Keeper) disksOf(b *broken, vmid int, m Machine) {
	for i, identity := range k.disks[vmid] {
		if !slices.ContainsFunc(slices.Concat(m.Disks, m.Unplugged), func(d Disk) bool { return d.Identity == identity }) {
			b.say("the disk scsi%d of VM %d is lost: the machine neither uses nor keeps it", i, vmid)
		}
	}
}
