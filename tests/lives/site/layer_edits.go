package site

import (
	"fmt"
	"slices"
)

// Layer is a stack of a site.
type Layer string

// The layers, the lowest first.
const (
	HostsLayer   Layer = "hosts"
	SystemsLayer Layer = "systems"
	ClusterLayer Layer = "cluster"
)

// LayerChange is what an edit of a layer does.
type LayerChange struct {
	// Layer is the stack whose next up carries it out.
	Layer Layer
	// OfSystem is whether it concerns a system, and Numbered whether it has a number.
	OfSystem, Numbered bool
	change             func(l *Layers, system string, number int) bool
}

// LayerEdits are all edits of the layers. None is refused once the loss of systems is consented to.
var LayerEdits = map[string]LayerChange{
	"hosts-mtu":        ofHosts(func(h *Hosts, number int) bool { h.MTU = 1500 + number; return true }),
	"hosts-comment":    ofHosts(func(h *Hosts, number int) bool { h.Comment = fmt.Sprintf("comment %d", number); return true }),
	"hosts-vlan":       ofHosts(func(h *Hosts, number int) bool { h.VLANs = toggled(h.VLANs, number); return true }),
	"hosts-storage":    ofHosts(func(h *Hosts, number int) bool { h.Shares = toggled(h.Shares, number); return true }),
	"hosts-content":    ofHosts(func(h *Hosts, number int) bool { h.Content = contents[number%len(contents)]; return true }),
	"hosts-pool":       ofHosts(func(h *Hosts, number int) bool { h.Pools = toggled(h.Pools, number); return true }),
	"hosts-user":       ofHosts(func(h *Hosts, number int) bool { h.Users = toggled(h.Users, number); return true }),
	"hosts-keyboard":   ofHosts(func(h *Hosts, number int) bool { h.Keyboard = keyboards[number%len(keyboards)]; return true }),
	"hosts-time-zone":  ofHosts(func(h *Hosts, number int) bool { h.TimeZone = timeZones[number%len(timeZones)]; return true }),
	"hosts-job":        ofHosts(func(h *Hosts, number int) bool { h.Minute = number % 60; return true }),
	"systems-memory":   ofSystem(true, func(s *System, number int) bool { s.MemoryMiB = 512 + 64*number; return true }),
	"systems-cores":    ofSystem(true, func(s *System, number int) bool { s.Cores = 1 + number%4; return true }),
	"systems-disk":     ofSystem(true, func(s *System, number int) bool { s.DiskGiB += number; return true }),
	"systems-tag":      ofSystem(true, func(s *System, number int) bool { s.Tag = fmt.Sprintf("tag-%d", number); return true }),
	"systems-renumber": ofSystem(false, renumberSystem),
	"systems-add":      {Layer: SystemsLayer, OfSystem: true, change: addSystem},
	"systems-remove":   {Layer: SystemsLayer, OfSystem: true, change: removeSystem},
	"systems-keep":     {Layer: SystemsLayer, Numbered: true, change: func(l *Layers, _ string, number int) bool { l.Systems.Keep = number % 4; return true }},
	"storage-quota":    ofStorage(func(s *Storage, number int) bool { s.Datasets[0].QuotaGiB = 500 + number; return true }),
	"storage-compression": ofStorage(func(s *Storage, number int) bool {
		s.Datasets[0].Compression = compressions[number%len(compressions)]
		return true
	}),
	"storage-dataset": ofStorage(toggleDataset),
	"storage-protect": ofStorage(func(s *Storage, number int) bool { s.Protect = number%2 == 0; return true }),
}

// What the numbers of edits stand for.
var (
	contents     = [][]string{{"images", "iso", "backup"}, {"iso", "backup"}, {"images", "iso", "backup", "rootdir"}}
	keyboards    = []string{"de", "fr", "en-us"}
	timeZones    = []string{"Europe/Berlin", "UTC", "America/New_York"}
	compressions = []string{"", "ZSTD", "LZ4"}
)

func ofHosts(change func(h *Hosts, number int) bool) LayerChange {
	return LayerChange{Layer: HostsLayer, Numbered: true, change: func(l *Layers, _ string, number int) bool { return change(&l.Hosts, number) }}
}

func ofSystem(numbered bool, change func(s *System, number int) bool) LayerChange {
	return LayerChange{Layer: SystemsLayer, OfSystem: true, Numbered: numbered, change: func(l *Layers, name string, number int) bool {
		i := l.Systems.index(name)
		return i >= 0 && change(&l.Systems.Items[i], number)
	}}
}

func ofStorage(change func(s *Storage, number int) bool) LayerChange {
	return LayerChange{Layer: ClusterLayer, Numbered: true, change: func(l *Layers, _ string, number int) bool { return change(&l.Storage, number) }}
}

// toggled returns the numbers without one that is among them, or with one that is not.
func toggled(numbers []int, number int) []int {
	if i := slices.Index(numbers, number); i >= 0 {
		return slices.Delete(slices.Clone(numbers), i, i+1)
	}
	return append(slices.Clone(numbers), number)
}

// ApplyToLayers returns the site after an edit of its layers, and whether the edit means anything to it.
func (s Site) ApplyToLayers(e Edit) (Site, bool) {
	after := s.clone()
	change, known := LayerEdits[e.What]
	switch {
	case !known || !s.Topology.Layers, change.Layer == ClusterLayer && !s.HasCluster(), !change.change(&after.Layers, e.Node, e.Number):
		return s, false
	}
	return after, true
}

// renumberSystem gives a system the other one of its VMIDs, so that it is replaced.
func renumberSystem(s *System, _ int) bool {
	if first := newSystem(s.Name).VMID; s.VMID == first {
		s.VMID += apart
	} else {
		s.VMID = first
	}
	return true
}

func addSystem(l *Layers, name string, _ int) bool {
	added := newSystem(name)
	if added.VMID == 0 || l.Systems.index(name) >= 0 {
		return false
	}
	l.Systems.Items = append(l.Systems.Items, added)
	return true
}

func removeSystem(l *Layers, name string, _ int) bool {
	i := l.Systems.index(name)
	if i < 0 {
		return false
	}
	l.Systems.Items = slices.Delete(l.Systems.Items, i, i+1)
	return true
}

// toggleDataset adds a dataset, or leaves it out of the inventory.
func toggleDataset(s *Storage, number int) bool {
	name := fmt.Sprintf("k8s/data-%d", number)
	if i := slices.IndexFunc(s.Datasets, func(d Dataset) bool { return d.Name == name }); i >= 0 {
		s.Datasets = slices.Delete(s.Datasets, i, i+1)
		return true
	}
	s.Datasets = append(s.Datasets, Dataset{Name: name, QuotaGiB: 1 + number})
	return true
}
