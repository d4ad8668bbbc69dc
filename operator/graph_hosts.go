package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

// picture implements [layer]. Whether the hosts are online is no part of the picture.
func (h hostsLayer) picture(StatusReport) graph.Drawn { return picturedHosts(h.Inventory) }

// picturedHosts converts an inventory of hosts into the picture's types.
func picturedHosts(inv *hosts.Inventory) graph.Hosts {
	picture := graph.Hosts{Name: inv.File.Name, About: strings.Join([]string{
		manifest.Counted(len(inv.File.Hosts), "host"), manifest.Counted(len(inv.File.Storages), "storage"),
		manifest.Counted(len(inv.File.Mappings)+len(inv.File.USBMappings), "mapping"),
	}, " · ")}
	for _, host := range inv.File.Hosts {
		drawn := graph.EquippedHost{Name: host.Name, Network: picturedNetwork(host.Network), Devices: picturedDevices(inv.File, host.Name)}
		for _, storage := range inv.File.Storages {
			if _, isThere := inv.StorageOn(storage.Name, host.Name); isThere {
				drawn.Storages = append(drawn.Storages, picturedStorage(storage))
			}
		}
		picture.Hosts = append(picture.Hosts, drawn)
	}
	for _, storage := range inv.File.Storages {
		if len(storage.Hosts) == 0 {
			picture.Elsewhere = append(picture.Elsewhere, picturedStorage(storage))
		}
	}
	return picture
}

// picturedNetwork returns the bridges with the VLANs on them, then other interfaces with VLANs.
func picturedNetwork(network hosts.Network) []graph.Thing {
	var things []graph.Thing
	for _, bridge := range network.Bridges {
		facts := []string{"no ports"}
		if len(bridge.Ports) > 0 {
			facts[0] = "ports " + strings.Join(bridge.Ports, ", ")
		}
		if bridge.VLANAware {
			facts[0] += " · VLAN-aware"
		}
		things = append(things, graph.Thing{Name: bridge.Name, Facts: append(facts, addressedFacts(bridge.Addressed)...)})
	}
	for _, vlan := range network.VLANs {
		at := slices.IndexFunc(things, func(t graph.Thing) bool { return t.Name == vlan.Device })
		if at < 0 {
			at, things = len(things), append(things, graph.Thing{Name: vlan.Device})
		}
		line := fmt.Sprintf("VLAN %d", vlan.Tag)
		if facts := addressedFacts(vlan.Addressed); len(facts) > 0 {
			line += " · " + strings.Join(facts, " · ")
		}
		things[at].Facts = append(things[at].Facts, line)
	}
	return things
}

// addressedFacts returns what a host itself has on an interface, without comments, which may be long.
func addressedFacts(a hosts.Addressed) []string {
	var facts []string
	if a.Address.IsValid() {
		facts = append(facts, a.Address.String())
	}
	if a.Address6.IsValid() {
		facts = append(facts, a.Address6.String())
	}
	if a.MTU != 0 {
		facts = append(facts, fmt.Sprintf("MTU %d", a.MTU))
	}
	return facts
}

func picturedStorage(storage hosts.Storage) graph.Thing {
	contents := make([]string, len(storage.Content))
	for at, content := range storage.Content {
		contents[at] = string(content)
	}
	facts := []string{string(storage.Type)}
	if place := storagePlace(storage); place != "" {
		facts = append(facts, place)
	}
	return graph.Thing{Name: storage.Name, Facts: append(facts, strings.Join(contents, ", "))}
}

// storagePlace returns where a storage is.
func storagePlace(s hosts.Storage) string {
	switch s.Type {
	case hosts.StorageDir:
		return s.Path
	case hosts.StorageNFS:
		return s.Server + ":" + s.Export
	case hosts.StorageCIFS:
		return "//" + s.Server + "/" + s.Share
	case hosts.StorageLVMThin:
		return s.VolumeGroup + "/" + s.ThinPool
	case hosts.StorageZFSPool:
		return s.ZFSPool
	case hosts.StoragePBS:
		return s.Server + ", datastore " + s.Datastore
	default:
		return ""
	}
}

// picturedDevices returns the mappings with devices of a host.
func picturedDevices(file hosts.File, host string) []graph.Thing {
	var things []graph.Thing
	add := func(name, fact string) {
		at := slices.IndexFunc(things, func(t graph.Thing) bool { return t.Name == name })
		if at < 0 {
			at, things = len(things), append(things, graph.Thing{Name: name})
		}
		things[at].Facts = append(things[at].Facts, fact)
	}
	for _, mapping := range file.Mappings {
		for _, device := range mapping.Devices {
			if device.Host == host {
				add(mapping.Name, fmt.Sprintf("PCI %s (%s)", device.BDF, device.DeviceID))
			}
		}
	}
	for _, mapping := range file.USBMappings {
		for _, device := range mapping.Devices {
			if device.Host == host {
				add(mapping.Name, fmt.Sprintf("USB %s at %s", device.ID, cmp.Or(device.Port, "any port")))
			}
		}
	}
	return things
}
