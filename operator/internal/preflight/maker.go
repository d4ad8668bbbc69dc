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

// remedy returns how the stack makes what is missing.
func (m Maker) remedy(what string) string {
	return fmt.Sprintf("run `em-infra up %s`, whose hosts.yaml has %s", m.Place, what)
}

// storageRemedy returns what to do about a storage that a host lacks, or that does not take a content type: the run of the stack that
// makes it, or what is said otherwise.
func (m Makers) storageRemedy(name, host, content, otherwise string) string {
	for _, maker := range m {
		if storage, has := maker.Inventory.StorageOn(name, host); has && slices.Contains(storage.Content, hosts.Content(content)) {
			return maker.remedy("the storage " + name + " for " + content)
		}
	}
	return otherwise
}

// bridgeRemedy is storageRemedy for a bridge.
func (m Makers) bridgeRemedy(name, host, otherwise string) string {
	for _, maker := range m {
		if maker.Inventory.HasBridge(name, host) {
			return maker.remedy("the bridge " + name + " of " + host)
		}
	}
	return otherwise
}

// mappingRemedy is storageRemedy for a resource mapping.
func (m Makers) mappingRemedy(name, otherwise string) string {
	for _, maker := range m {
		if slices.ContainsFunc(maker.Inventory.File.Mappings, func(one hosts.Mapping) bool { return one.Name == name }) {
			return maker.remedy("the mapping " + name)
		}
	}
	return otherwise
}
