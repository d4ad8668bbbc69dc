// Package storages has the storages of a cluster with their volumes. It serves the API methods about them, and provides the
// VMs' disks (pve-storage).
//
// There are two kinds of locks. The service's own lock guards the volumes. It is held for moments only, and only the
// permissions are called under it. The lock of one storage, a file of the host, is held during an allocation of volumes,
// which takes time. It is taken before any other lock, and never while the service's own lock is held.
package storages

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// Permissions checks what callers may do.
type Permissions interface {
	Allowed(identity, path string, privileges ...string) bool
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Service has the storages of a cluster. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions
	downloads   *http.Client
	standIns    func(url string) (StandIn, bool)

	mu       sync.Mutex
	storages map[string]*storage.Storage
}

// New returns a service without storages. It downloads files with the given client, except those that have a stand-in.
func New(env *host.Environment, permissions Permissions, downloads *http.Client, standIns func(url string) (StandIn, bool)) *Service {
	return &Service{env: env, permissions: permissions, downloads: downloads, standIns: standIns, storages: map[string]*storage.Storage{}}
}

// Adopt adds the storages of hosts, with their space and content types. A storage that was deleted through the API brings no new content type, and
// is not added again.
func (s *Service) Adopt(hosts []hardware.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for id, fresh := range described(hosts) {
		if known, ok := s.storages[id]; ok {
			known.Adopt(fresh)
		} else if len(fresh.Content) > 0 {
			s.storages[id] = fresh
		}
	}
}

// described returns the storages of hosts, without volumes.
func described(hosts []hardware.Host) map[string]*storage.Storage {
	all := map[string]*storage.Storage{}

	for _, h := range hosts {
		for _, d := range h.Storages {
			known, ok := all[d.Name]
			if !ok {
				known = storage.New(storage.Definition{
					ID: d.Name, Type: d.Type, Content: d.Content, Shared: d.Shared, Path: d.Path, Options: installed(d),
				})
				all[d.Name] = known
			}

			known.Nodes = append(known.Nodes, h.Name)
			known.AddRoom(h.Name, d.TotalBytes, d.ReservedBytes)
		}
	}

	return all
}

// installed returns the settings of a storage that a host has from the beginning: those of the installer where it makes the storage, and
// otherwise the ones that the plugin requires.
func installed(d hardware.Storage) map[string]string {
	switch d.Type {
	case storage.ZFSPool:
		return map[string]string{"pool": "rpool/" + d.Name}
	case storage.LVMThin:
		return map[string]string{"vgname": "pve", "thinpool": "data"}
	case storage.NFS:
		return map[string]string{"server": "192.168.20.5", "export": "/mnt/tank/" + d.Name}
	default:
		return nil
	}
}

// kept is the persistent state.
type kept struct {
	Storages map[string]*storage.Storage `json:"storages"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Storages: s.storages}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Storages: map[string]*storage.Storage{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.storages = restored.Storages

	return nil
}

// on returns a storage of a node. The caller holds the lock.
func (s *Service) on(id, node string) (*storage.Storage, error) {
	found, ok := s.storages[id]
	if !ok {
		return nil, fmt.Errorf("storage '%s' does not exist", id)
	}

	if !found.OnNode(node) {
		return nil, fmt.Errorf("storage '%s' is not available on node '%s'", id, node)
	}

	return found, nil
}

// locked calls do under the lock.
func (s *Service) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return do()
}

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
	// Share is set in lists only, for each storage with a size, even if it is 0 (pve-storage API2/Storage/Status.pm).
	Share *float64 `json:"used_fraction,omitempty"`
}

func (s *Service) storageStatus(st *storage.Storage, node string) (storageStatus, error) {
	room, err := st.Room(node)
	if err != nil {
		return storageStatus{}, err
	}

	return storageStatus{
		Type: string(st.Type), Content: st.ContentList(), Shared: api.Flag(st.Shared), Active: 1, Enabled: 1,
		Total: room.Total, Used: room.Used, Avail: room.Available,
	}, nil
}

// getStorageStatus handles GET /nodes/{node}/storage/{storage}/status.
func (s *Service) getStorageStatus(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, ok := s.storages[c.Params.Get("storage")]
	if !ok {
		return nil, schema.BadParam("storage", "No such storage.")
	}

	if !st.OnNode(c.Node) {
		return storageStatus{Type: string(st.Type), Content: st.ContentList(), Shared: api.Flag(st.Shared)}, nil
	}

	return s.storageStatus(st, c.Node)
}

// listNodeStorages handles GET /nodes/{node}/storage.
func (s *Service) listNodeStorages(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []storageStatus{}

	for _, id := range slices.Sorted(maps.Keys(s.storages)) {
		st := s.storages[id]
		err := s.permissions.Check(c.Identity, "/storage/"+id, true, "Datastore.Audit", "Datastore.AllocateSpace")

		if err != nil || !st.OnNode(c.Node) || c.Params.Has("storage") && c.Params.Get("storage") != id ||
			c.Params.Has("content") && !slices.ContainsFunc(c.Params.List("content"), st.Holds) {
			continue
		}

		status, err := s.storageStatus(st, c.Node)
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

// definition returns a storage as the API shows its section of storage.cfg (pve-storage API2/Storage/Config.pm, $api_storage_config).
func (s *Service) definition(st *storage.Storage) map[string]any {
	d := map[string]any{"storage": st.ID, "type": string(st.Type), "content": st.ContentList()}

	for name, value := range st.Options {
		d[name] = s.typed(name, value)
	}

	if st.Path != "" {
		d["path"] = st.Path
	}

	if st.Shared {
		d["shared"] = 1
	}

	if len(st.Nodes) > 0 && len(st.Nodes) < len(s.env.Nodes.Hosts()) {
		d["nodes"] = strings.Join(st.Nodes, ",")
	}

	d["digest"] = api.Digest(fmt.Sprintf("%+v", d))

	return d
}

// typed returns a setting as a number if its type is one, or a flag (pve-common SectionConfig.pm, check_value).
func (s *Service) typed(name, value string) any {
	method, ok := s.env.Schema.Method(http.MethodPost, "/storage")
	if !ok || method.Parameters[name] == nil {
		return value
	}

	switch method.Parameters[name].Type {
	case "boolean", "integer", "number":
		if number, err := strconv.Atoi(value); err == nil {
			return number
		}
	}

	return value
}

// listStorages handles GET /storage.
func (s *Service) listStorages(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []map[string]any{}

	for _, id := range slices.Sorted(maps.Keys(s.storages)) {
		st := s.storages[id]
		err := s.permissions.Check(c.Identity, "/storage/"+id, true, "Datastore.Audit", "Datastore.AllocateSpace")

		if err == nil && (!c.Params.Has("type") || c.Params.Get("type") == string(st.Type)) {
			list = append(list, s.definition(st))
		}
	}

	return list, nil
}

// getStorage handles GET /storage/{storage}.
func (s *Service) getStorage(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, ok := s.storages[c.Params.Get("storage")]
	if !ok {
		return nil, fmt.Errorf("storage '%s' does not exist", c.Params.Get("storage"))
	}

	return s.definition(st), nil
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	const base = "/nodes/{node}/storage"

	return []api.Method{
		api.Get("/storage", s.listStorages),
		api.Post("/storage", s.createStorage),
		api.Get("/storage/{storage}", s.getStorage),
		api.Put("/storage/{storage}", s.updateStorage),
		api.Delete("/storage/{storage}", s.deleteStorage),
		api.Get(base, s.listNodeStorages),
		api.Get(base+"/{storage}/status", s.getStorageStatus),
		api.Get(base+"/{storage}/content", s.listContent),
		api.Get(base+"/{storage}/content/{volume}", s.getVolume),
		api.Delete(base+"/{storage}/content/{volume}", s.deleteVolume),
		api.Post(base+"/{storage}/download-url", s.downloadURL),
		api.Post(base+"/{storage}/upload", s.uploadFile),
		api.Get("/nodes/{node}/query-url-metadata", s.queryURL),
	}
}
