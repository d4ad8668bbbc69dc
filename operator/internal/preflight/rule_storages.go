package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// place is a storage on a host; a shared storage has no host.
type place struct{ storage, host string }

func checkStorages(s *collector, inv *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	demand := map[place]int{}
	var order []place
	for _, host := range onlineHosts(inv, found) {
		storages := found.Hosts[host].Storages
		if storages.Err != nil {
			s.unread("storage", "the storages of "+host, storages.Err)
			continue
		}
		for _, asked := range asksOf(inv, found, host) {
			storage, there := named(storages.Value, asked.storage)
			if !checkStorage(s, host, asked, storage, there, storages.Value, found.Makers) {
				continue
			}
			at := place{asked.storage, host}
			if storage.Shared {
				at.host = ""
			}
			if _, counted := demand[at]; !counted {
				order = append(order, at)
			}
			demand[at] += asked.sizeGiB
		}
	}
	for _, at := range order {
		checkRoom(s, at, demand[at], availableGiB(found, at))
	}
	if s.sound(mark) && len(order) > 0 {
		s.ok("storage", "%s", roomFor(order, demand))
	}
}

func named(storages []pve.Storage, name string) (pve.Storage, bool) {
	at := slices.IndexFunc(storages, func(storage pve.Storage) bool { return storage.Name == name })
	if at < 0 {
		return pve.Storage{}, false
	}
	return storages[at], true
}

// checkStorage reports whether a storage exists and can be used for a purpose.
func checkStorage(s *collector, host string, asked ask, storage pve.Storage, there bool, all []pve.Storage, makers Makers) bool {
	switch {
	case !there:
		s.lacks("storage", makers.storageRemedy(asked.storage, host, asked.content, "correct the storage in the inventory, or add it in Proxmox VE"),
			"storage %s is not on %s, which has %s", asked.storage, host, listed(storageList(all)))
	case !bool(storage.Active):
		s.fail("storage", "see `pvesm status` on "+host, "storage %s is not active on %s", asked.storage, host)
	case !slices.Contains(strings.Split(storage.Content, ","), asked.content):
		byHand := fmt.Sprintf("as root on the host: `pvesm set %s --content %s,%s`", asked.storage, storage.Content, asked.content)
		s.lacks("storage", makers.storageRemedy(asked.storage, host, asked.content, byHand),
			"storage %s on %s does not take %s, only %s", asked.storage, host, asked.content, storage.Content)
	case asked.shared && !bool(storage.Shared):
		s.fail("storage", "name a storage that the hosts share, or replace template.shared by template.perHost",
			"storage %s on %s is not shared: the shared template cannot be cloned from it or to it", asked.storage, host)
	default:
		return true
	}
	return false
}

func storageList(storages []pve.Storage) []string {
	var names []string
	for _, storage := range storages {
		names = append(names, storage.Name)
	}
	slices.Sort(names)
	return names
}

// availableGiB returns the free space on a storage. If hosts report different values for a shared storage, the least counts.
func availableGiB(found Snapshot, at place) int {
	var rooms []int
	for name, host := range found.Hosts {
		storage, there := named(host.Storages.Value, at.storage)
		if there && (at.host == "" || at.host == name) {
			rooms = append(rooms, int(storage.AvailableBytes>>30))
		}
	}
	if len(rooms) == 0 {
		return 0
	}
	return slices.Min(rooms)
}

func checkRoom(s *collector, at place, asked, available int) {
	if asked > available {
		s.fail("storage", "free space, or set diskStorage or diskGiB", "storage %s has %d GiB free, the inventory asks for %d GiB", at, available, asked)
	}
}

// String returns the storage with its host.
func (p place) String() string {
	if p.host == "" {
		return p.storage
	}
	return p.storage + " on " + p.host
}

// roomFor returns the text of the successful check of the storages.
func roomFor(order []place, demand map[place]int) string {
	var parts []string
	for _, at := range order {
		if demand[at] == 0 {
			parts = append(parts, fmt.Sprintf("storage %s is there", at))
			continue
		}
		parts = append(parts, fmt.Sprintf("storage %s has room for %d GiB", at, demand[at]))
	}
	return strings.Join(parts, ", ")
}
