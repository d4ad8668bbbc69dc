package preflight

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
)

// Maker is a stack of hosts, which makes storages and bridges.
type Maker struct {
	// Place are the flags that select it, such as "--stack site-hosts".
	Place string
	// Inventory is its hosts.yaml.
	Inventory *hosts.Inventory
}

// Makers are all stacks of hosts that configure one Proxmox VE.
type Makers []Maker

// action is what to do about something that is missing.
type action struct {
	do string
	// madeBy are the flags of the stack that makes it; empty if none does.
	madeBy string
}

// remedy returns how the stack makes what is missing.
func (m Maker) remedy(what string) action {
	return action{do: fmt.Sprintf("run `em-infra up %s`, whose hosts.yaml has %s", m.Place, what), madeBy: m.Place}
}

// storageRemedy returns what to do about a storage that a host lacks, or that does not take a content type: the run of the stack that makes it, or
// the text otherwise if no stack does.
func (m Makers) storageRemedy(name, host, content, otherwise string) action {
	if maker, makes := m.makerOfStorage(name, host, content); makes {
		return maker.remedy("the storage " + name + " for " + content)
	}
	return action{do: otherwise}
}

// Of returns the stack that configures a host.
func (m Makers) Of(host string) (Maker, bool) {
	return m.that(func(inv *hosts.Inventory) bool { return slices.Contains(inv.Hosts(), host) })
}

// MappingOf returns the name of the mapping that one of the stacks makes for a device; empty if none does.
func (m Makers) MappingOf(host, address string) string {
	for _, maker := range m {
		for _, mapping := range maker.Inventory.File.Mappings {
			if slices.ContainsFunc(mapping.Devices, func(d hosts.MappedDevice) bool { return d.Host == host && string(d.BDF) == address }) {
				return mapping.Name
			}
		}
	}
	return ""
}

// MakeStorage reports whether one of the stacks makes a storage on a host that takes a content type.
func (m Makers) MakeStorage(name, host, content string) bool {
	_, makes := m.makerOfStorage(name, host, content)
	return makes
}

func (m Makers) makerOfStorage(name, host, content string) (Maker, bool) {
	return m.that(func(inv *hosts.Inventory) bool {
		storage, has := inv.StorageOn(name, host)
		return has && slices.Contains(storage.Content, hosts.Content(content))
	})
}

// that returns the first stack whose inventory has something.
func (m Makers) that(has func(*hosts.Inventory) bool) (Maker, bool) {
	at := slices.IndexFunc(m, func(maker Maker) bool { return has(maker.Inventory) })
	if at < 0 {
		return Maker{}, false
	}
	return m[at], true
}

// bridgeRemedy is storageRemedy for a bridge.
func (m Makers) bridgeRemedy(name, host, otherwise string) action {
	return m.bridgeThat(name, host, otherwise, func(hosts.Bridge) bool { return true })
}

// bridgeThat is bridgeRemedy for a bridge that has what is missing.
func (m Makers) bridgeThat(name, host, otherwise string, has func(hosts.Bridge) bool) action {
	maker, makes := m.that(func(inv *hosts.Inventory) bool {
		return slices.ContainsFunc(inv.File.Hosts, func(h hosts.Host) bool {
			return h.Name == host && slices.ContainsFunc(h.Network.Bridges, func(b hosts.Bridge) bool { return b.Name == name && has(b) })
		})
	})
	if !makes {
		return action{do: otherwise}
	}
	return maker.remedy("the bridge " + name + " of " + host)
}

// mappingRemedy is storageRemedy for a resource mapping.
func (m Makers) mappingRemedy(name, otherwise string) action {
	for _, maker := range m {
		if slices.ContainsFunc(maker.Inventory.File.Mappings, func(one hosts.Mapping) bool { return one.Name == name }) {
			return maker.remedy("the mapping " + name)
		}
	}
	return action{do: otherwise}
}
