package storages

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// addedBytes is the size of each storage that is added: the lab does not know the pools and servers behind them.
const addedBytes = 4 << 40

// defined is the answer to a change (pve-storage API2/Storage/Config.pm, create and update).
type defined struct {
	Storage string       `json:"storage"`
	Type    storage.Type `json:"type"`
}

// createStorage handles POST /storage. It tries to activate the storage on the host that answers, and adds nothing if that fails.
func (s *Service) createStorage(c *api.Call) (any, error) {
	id, kind := c.Params.Get("storage"), storage.Type(c.Params.Get("type"))
	params := c.Params.Without("storage", "type")

	plugin, known := plugins[kind]
	if !known {
		return nil, fmt.Errorf("the lab has no storages of the type %s", kind)
	}

	if err := plugin.check(params, true); err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.storages[id] != nil {
		return nil, fmt.Errorf("create storage failed: storage ID '%s' already defined", id)
	}

	made := storage.New(storage.Definition{
		ID: id, Type: kind, Content: plugin.byDefault, Shared: plugin.shared, Options: map[string]string{},
	})
	if plugin.shared && kind.FileBased() {
		made.Path = path.Join("/mnt/pve", id)
	}

	set(&made.Definition, params)

	if made.OnNode(s.env.Nodes.First()) {
		if err := activate(kind, id, params); err != nil {
			return nil, fmt.Errorf("create storage failed: %w", err)
		}
	}

	s.giveRoom(made)
	s.storages[id] = made
	s.env.Changed()

	return defined{id, kind}, nil
}

// giveRoom gives a storage its space on the nodes that it did not have until now.
func (s *Service) giveRoom(st *storage.Storage) {
	for _, node := range s.env.Nodes.Names() {
		if _, err := st.Room(node); err != nil && st.OnNode(node) {
			st.AddRoom(node, addedBytes, 0)
		}
	}
}

// updateStorage handles PUT /storage/{storage}. It activates nothing.
func (s *Service) updateStorage(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := c.Params.Get("storage")

	known, ok := s.storages[id]
	if !ok {
		return nil, fmt.Errorf("update storage failed: storage '%s' does not exist", id)
	}

	if given := c.Params.Get("digest"); given != "" && given != s.definition(known)["digest"] {
		return nil, fmt.Errorf("update storage failed: %w", api.ErrModified)
	}

	params, deleted := c.Params.Without("storage", "digest", "delete"), c.Params.List("delete")
	if err := checkUpdate(known.Type, params, deleted); err != nil {
		return nil, fmt.Errorf("update storage failed: %w", err)
	}

	changed := known.Definition
	changed.Options, changed.Nodes = maps.Clone(known.Options), slices.Clone(known.Nodes)

	if changed.Options == nil {
		changed.Options = map[string]string{}
	}

	unset(&changed, deleted)
	set(&changed, params)
	known.Definition = changed
	s.giveRoom(known)
	s.env.Changed()

	return defined{id, known.Type}, nil
}

func checkUpdate(kind storage.Type, params schema.Params, deleted []string) error {
	plugin := plugins[kind]
	if err := plugin.check(params, false); err != nil {
		return err
	}

	return plugin.checkDeletion(deleted, params)
}

// deleteStorage handles DELETE /storage/{storage}. Only the definition goes: what is on the storage stays, and machines that have disks
// there do not hinder it.
func (s *Service) deleteStorage(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := c.Params.Get("storage")
	if s.storages[id] == nil {
		return nil, fmt.Errorf("delete storage failed: storage '%s' does not exist", id)
	}

	delete(s.storages, id)
	s.env.Changed()

	return nil, nil
}
