package hardware

import "slices"

// Grown are the hosts that were, each with what is described of it now, and the new ones. Nothing is taken away, since
// machines may stand on it.
func Grown(before, now []Host) []Host {
	all := slices.Clone(before)

	for _, h := range now {
		i := slices.IndexFunc(all, func(known Host) bool { return known.Name == h.Name })
		if i < 0 {
			all = append(all, h)
			continue
		}

		all[i] = all[i].with(h)
	}

	return all
}

// Beyond are hosts without the bridges and devices that were known of them, so that what the API has taken away since does
// not come back.
func Beyond(hosts, known []Host) []Host {
	beyond := slices.Clone(hosts)

	for i, h := range beyond {
		if before, ok := named(known, h.Name); ok {
			beyond[i].Bridges = without(h.Bridges, before.Bridges, sameBridge)
			beyond[i].PCI = without(h.PCI, before.PCI, func(a, b PCIDevice) bool { return a == b })
		}
	}

	return beyond
}

func named(hosts []Host, name string) (Host, bool) {
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}

	return hosts[i], true
}

func sameBridge(a, b Bridge) bool { return a.Name == b.Name }

// without are the items that none of the known is the same as.
func without[T any](items, known []T, same func(a, b T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		return slices.ContainsFunc(known, func(k T) bool { return same(item, k) })
	})
}

// with is the host with what another description of it adds.
func (h Host) with(now Host) Host {
	h.Cores, h.MemoryMiB = max(h.Cores, now.Cores), max(h.MemoryMiB, now.MemoryMiB)
	h.Storages = slices.Clone(h.Storages)

	for _, s := range now.Storages {
		i := slices.IndexFunc(h.Storages, func(known Storage) bool { return known.Name == s.Name })
		if i < 0 {
			h.Storages = append(h.Storages, s)
			continue
		}

		h.Storages[i] = h.Storages[i].with(s)
	}

	h.Bridges = slices.Concat(h.Bridges, without(now.Bridges, h.Bridges, sameBridge))
	// A device at the address of another one has taken its slot.
	h.PCI = slices.Concat(now.PCI, without(h.PCI, now.PCI, func(a, b PCIDevice) bool { return a.Address == b.Address }))

	return h
}

// with is the storage with the content and the room that another description adds. It stays of its type, as what lies in
// it does.
func (s Storage) with(now Storage) Storage {
	s.Content = slices.Concat(s.Content, without(now.Content, s.Content, func(a, b string) bool { return a == b }))
	s.TotalBytes = max(s.TotalBytes, now.TotalBytes)

	return s
}
