package proxmox

import (
	"maps"
	"slices"
	"strings"
)

// Grow gives the cluster what these hosts have and it has not: nodes, cores, memory, storages and room in them, bridges,
// devices and their mappings. Nothing is taken away, since machines may stand on it: a host does not shrink when an
// inventory does. Mistakes wrap ErrConfig, and then nothing has changed.
func (s *Server) Grow(hosts []Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := grown(s.hosts(), hosts)

	fresh, err := s.config.stateOf(all, s.hosts())
	if err != nil {
		return err
	}

	s.state.adopt(fresh)
	s.nodes.Store(&all)
	s.changed()

	return nil
}

// stateOf is a fresh state with what hosts have beside those that were known, so that what the API has taken away since
// does not come back.
func (c Config) stateOf(hosts, known []Host) (*state, error) {
	c.Hosts = hosts
	if err := c.validate(); err != nil {
		return nil, err
	}

	c.Hosts = slices.Clone(hosts)

	for i, h := range c.Hosts {
		if before, ok := hostNamed(known, h.Name); ok {
			c.Hosts[i].Bridges = without(h.Bridges, before.Bridges, sameBridge)
			c.Hosts[i].PCI = without(h.PCI, before.PCI, func(a, b PCIDevice) bool { return a == b })
		}
	}

	return newState(c)
}

func sameBridge(a, b Bridge) bool { return a.Name == b.Name }

// without are the items that none of the known is the same as.
func without[T any](items, known []T, same func(a, b T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		return slices.ContainsFunc(known, func(k T) bool { return same(item, k) })
	})
}

// follow lets the hosts grow to what is described of them by now.
func (s *Server) follow() {
	described := s.config.Described()
	if described == nil {
		return
	}

	if err := s.Grow(described); err != nil {
		s.journal.note("hosts do not grow", err)
	}
}

// hosts are the nodes as they are described now.
func (s *Server) hosts() []Host { return *s.nodes.Load() }

// host returns a node's description.
func (s *Server) host(name string) (Host, bool) {
	return hostNamed(s.hosts(), name)
}

func hostNamed(hosts []Host, name string) (Host, bool) {
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}

	return hosts[i], true
}

// grown are the hosts that were, each with what is described of it now, and the new ones.
func grown(before, now []Host) []Host {
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

// adopt completes the state with the hardware that a fresh one has more.
func (st *state) adopt(fresh *state) {
	for name, s := range fresh.Storages {
		if known, ok := st.Storages[name]; !ok {
			st.Storages[name] = s
		} else {
			known.Adopt(s)
		}
	}

	for node, n := range fresh.Networks {
		if known, ok := st.Networks[node]; !ok {
			st.Networks[node] = n
		} else {
			known.adopt(n)
		}
	}

	for id, m := range fresh.PCIMappings {
		if known, ok := st.PCIMappings[id]; !ok {
			st.PCIMappings[id] = m
		} else {
			known.adopt(m)
		}
	}
}

// adopt adds the interfaces that are not there, at once and without a reload.
func (n *network) adopt(fresh *network) {
	for name, i := range fresh.Active {
		for _, known := range []map[string]iface{n.Active, n.Staged} {
			if _, ok := known[name]; !ok && known != nil {
				known[name] = maps.Clone(i)
			}
		}
	}
}

// adopt takes over what another mapping says of its devices.
func (m *mapping) adopt(fresh *mapping) {
	m.Map = slices.DeleteFunc(slices.Clone(m.Map), func(entry string) bool {
		return slices.ContainsFunc(fresh.Map, func(now string) bool { return deviceOf(now) == deviceOf(entry) })
	})
	m.Map = append(m.Map, fresh.Map...)
}

// deviceOf is the node and the path of a mapping's entry.
func deviceOf(entry string) (device [2]string) {
	for property := range strings.SplitSeq(entry, ",") {
		switch name, value, _ := strings.Cut(property, "="); name {
		case "node":
			device[0] = value
		case "path":
			device[1] = value
		}
	}

	return device
}
