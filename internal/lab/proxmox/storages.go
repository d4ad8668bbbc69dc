package proxmox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// storageStatus is a storage on a node (pve-storage Storage.pm, storage_info).
type storageStatus struct {
	Storage string `json:"storage,omitempty"`
	Type    string `json:"type"`
	Content string `json:"content"`
	Shared  int    `json:"shared"`
	Active  int    `json:"active"`
	Enabled int    `json:"enabled"`
	Total   uint64 `json:"total"`
	Used    uint64 `json:"used"`
	Avail   uint64 `json:"avail"`
	// Share is there in a list only, and then of each storage that has a size, 0 too (pve-storage API2/Storage/Status.pm).
	Share *float64 `json:"used_fraction,omitempty"`
}

func (s *Server) storageStatus(st *storage.Storage, node string) (storageStatus, error) {
	room, err := st.Room(node)
	if err != nil {
		return storageStatus{}, err
	}

	return storageStatus{
		Type: string(st.Type), Content: st.ContentList(), Shared: flag(st.Shared), Active: 1, Enabled: 1,
		Total: room.Total, Used: room.Used, Avail: room.Available,
	}, nil
}

// getStorageStatus answers GET /nodes/{node}/storage/{storage}/status.
func (s *Server) getStorageStatus(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, ok := s.state.Storages[c.params.Get("storage")]
	if !ok {
		return nil, schema.BadParam("storage", "No such storage.")
	}

	if !st.OnNode(c.node) {
		return storageStatus{Type: string(st.Type), Content: st.ContentList(), Shared: flag(st.Shared)}, nil
	}

	return s.storageStatus(st, c.node)
}

// listNodeStorages answers GET /nodes/{node}/storage.
func (s *Server) listNodeStorages(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []storageStatus{}

	for _, id := range sortedNames(s.state.Storages) {
		st := s.state.Storages[id]
		err := s.state.Access.Check(c.identity, "/storage/"+id, true, "Datastore.Audit", "Datastore.AllocateSpace")

		if err != nil || !st.OnNode(c.node) || c.params.Has("storage") && c.params.Get("storage") != id ||
			c.params.Has("content") && !slices.ContainsFunc(c.params.List("content"), st.Holds) {
			continue
		}

		status, err := s.storageStatus(st, c.node)
		if err != nil {
			return nil, err
		}

		status.Storage = id
		if status.Total > 0 {
			status.Share = new(float64(status.Used) / float64(status.Total))
		}

		list = append(list, status)
	}

	return list, nil
}

// storageDefinition is a storage as the cluster's configuration has it.
type storageDefinition struct {
	Storage string `json:"storage"`
	Type    string `json:"type"`
	Content string `json:"content"`
	Path    string `json:"path,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Shared  int    `json:"shared,omitempty"`
	Nodes   string `json:"nodes,omitempty"`
	Digest  string `json:"digest"`
}

func (s *Server) definition(st *storage.Storage) storageDefinition {
	d := storageDefinition{
		Storage: st.ID, Type: string(st.Type), Content: st.ContentList(), Path: st.Path, Shared: flag(st.Shared),
	}
	if st.Type == storage.ZFSPool {
		d.Pool = "rpool/" + st.ID
	}

	if len(st.Nodes) < len(s.hosts()) {
		d.Nodes = strings.Join(st.Nodes, ",")
	}

	d.Digest = digest(fmt.Sprintf("%+v", d))

	return d
}

// listStorages answers GET /storage.
func (s *Server) listStorages(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []storageDefinition{}

	for _, id := range sortedNames(s.state.Storages) {
		st := s.state.Storages[id]
		err := s.state.Access.Check(c.identity, "/storage/"+id, true, "Datastore.Audit", "Datastore.AllocateSpace")

		if err == nil && (!c.params.Has("type") || c.params.Get("type") == string(st.Type)) {
			list = append(list, s.definition(st))
		}
	}

	return list, nil
}

// getStorage answers GET /storage/{storage}.
func (s *Server) getStorage(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, ok := s.state.Storages[c.params.Get("storage")]
	if !ok {
		return nil, fmt.Errorf("storage '%s' does not exist", c.params.Get("storage"))
	}

	return s.definition(st), nil
}

func storageRows() []row {
	const base = "/nodes/{node}/storage"

	return []row{
		{Verb: http.MethodGet, Path: "/storage", serve: (*Server).listStorages},
		{Verb: http.MethodGet, Path: "/storage/{storage}", serve: (*Server).getStorage},
		{Verb: http.MethodGet, Path: base, serve: (*Server).listNodeStorages},
		{Verb: http.MethodGet, Path: base + "/{storage}/status", serve: (*Server).getStorageStatus},
		{Verb: http.MethodGet, Path: base + "/{storage}/content", serve: (*Server).listContent},
		{Verb: http.MethodGet, Path: base + "/{storage}/content/{volume}", serve: (*Server).getVolume},
		{Verb: http.MethodDelete, Path: base + "/{storage}/content/{volume}", serve: (*Server).deleteVolume},
		{Verb: http.MethodPost, Path: base + "/{storage}/download-url", serve: (*Server).downloadURL},
		{Verb: http.MethodPost, Path: base + "/{storage}/upload", serve: (*Server).uploadFile},
		{Verb: http.MethodGet, Path: "/nodes/{node}/query-url-metadata", serve: (*Server).queryURL},
	}
}
