package hardware

import "slices"

// Grown returns the former hosts with the additions of their new description, followed by the new hosts. Nothing is removed,
// because VMs may use it.
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

// Beyond returns hosts without their known bridges, devices and content types of storages, so that what was deleted through the API is not
// added again.
func Beyond(hosts, known []Host) []Host {
	beyond := slices.Clone(hosts)

	for i, h := range beyond {
		if before, ok := named(known, h.Name); ok {
			beyond[i].Bridges = without(h.Bridges, before.Bridges, sameBridge)
			beyond[i].PCI = without(h.PCI, before.PCI, func(a, b PCIDevice) bool { return a == b })
			beyond[i].Storages = withNewContent(h.Storages, before.Storages)
		}
	}

	return beyond
}

// withNewContent returns storages with the content types that their known descriptions lack.
func withNewContent(storages, known []Storage) []Storage {
	all := slices.Clone(storages)

	for i, s := range all {
		at := slices.IndexFunc(known, func(k Storage) bool { return k.Name == s.Name })
		if at >= 0 {
			all[i].Content = without(s.Content, known[at].Content, func(a, b string) bool { return a == b })
		}
	}

	return all
}

func named(hosts []Host, name string) (Host, bool) {
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}

	return hosts[i], true
}

func sameBridge(a, b Bridge) bool { return a.Name == b.Name }

// without returns the items that are not among the known ones.
func without[T any](items, known []T, same func(a, b T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		return slices.ContainsFunc(known, func(k T) bool { return same(item, k) })
	})
}

// with returns the host with the additions of another description.
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
	// A device replaces another device at the same address.
	h.PCI = slices.Concat(now.PCI, without(h.PCI, now.PCI, func(a, b PCIDevice) bool { return a.Address == b.Address }))

	return h
}

// with returns the storage with the additional content types and space of another description. Its type does not change.
func (s Storage) with(now Storage) Storage {
	s.Content = slices.Concat(s.Content, without(now.Content, s.Content, func(a, b string) bool { return a == b }))
	s.TotalBytes = max(s.TotalBytes, now.TotalBytes)

	return s
}
