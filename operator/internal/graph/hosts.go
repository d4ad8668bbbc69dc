package graph

// Hosts are the hosts that a stack configures.
type Hosts struct {
	// Name is the name of the stack's resources.
	Name string
	// About is one line about the whole.
	About string
	// Hosts are the hosts, in the order of drawing.
	Hosts []EquippedHost
	// Elsewhere are the storages that all other hosts of the same Proxmox VE have, too. Default: none.
	Elsewhere []Thing
}

// EquippedHost is a host with what guests use of it.
type EquippedHost struct {
	// Name is the host's name.
	Name string
	// Network are its bridges, and other interfaces with VLANs.
	Network []Thing
	// Storages are the storages that it has.
	Storages []Thing
	// Devices are its devices with a mapping.
	Devices []Thing
}

// Thing is something with a name that is no machine, such as a bridge, a storage or a dataset.
type Thing struct {
	// Name is its name.
	Name string
	// Facts are what is known about it, one line each.
	Facts []string
}

func (h Hosts) scene() scene {
	return scene{title: "Hosts " + h.Name, name: h.Name, about: h.About, bands: []band{{areas: areasOf(h.parts(""))}}}
}

func (h Hosts) parts(stack string) []part {
	var parts []part
	for _, host := range h.Hosts {
		for _, one := range []struct {
			label  string
			things []Thing
		}{{"network", host.Network}, {labelStorages, host.Storages}, {"devices", host.Devices}} {
			parts = append(parts, part{host: host.Name, shelf: shelfEquipment, group: groupOf(labelled(one.label, stack), one.things)})
		}
	}
	return parts
}

// labelStorages names the storages of a host.
const labelStorages = "storages"

// elsewhere returns what a host of the same Proxmox VE has that the stack does not name.
func (h Hosts) elsewhere(host, stack string) part {
	return part{host: host, shelf: shelfEquipment, group: groupOf(labelled(labelStorages, stack), h.Elsewhere)}
}

func groupOf(label string, things []Thing) group {
	drawn := group{label: label, class: "frame"}
	for _, thing := range things {
		drawn.cards = append(drawn.cards, card{name: thing.Name, lines: thing.Facts})
	}
	return drawn
}
