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

// storageRemedy returns what to do about a storage that a host lacks, or that does not take a content type: the run of the stack that
// makes it, or what is said otherwise.
func (m Makers) storageRemedy(name, host, content, otherwise string) action {
	for _, maker := range m {
		if storage, has := maker.Inventory.StorageOn(name, host); has && slices.Contains(storage.Content, hosts.Content(content)) {
			return maker.remedy("the storage " + name + " for " + content)
		}
	}
	return action{do: otherwise}
}

// Of returns the stack that configures a host.
func (m Makers) Of(host string) (Maker, bool) {
	at := slices.IndexFunc(m, func(maker Maker) bool { return slices.Contains(maker.Inventory.Hosts(), host) })
	if at < 0 {
		return Maker{}, false
	}
	return m[at], true
}

// MakeStorage reports whether one of the stacks makes a storage on a host that takes a content type.
func (m Makers) MakeStorage(name, host, content string) bool {
	return slices.ContainsFunc(m, func(maker Maker) bool {
		storage, has := maker.Inventory.StorageOn(name, host)
		return has && slices.Contains(storage.Content, hosts.Content(content))
	})
}

// bridgeRemedy is storageRemedy for a bridge.
func (m Makers) bridgeRemedy(name, host, otherwise string) action {
	for _, maker := range m {
		if maker.Inventory.HasBridge(name, host) {
			return maker.remedy("the bridge " + name + " of " + host)
		}
	}
	return action{do: otherwise}
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
