package proxmox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// storageStatus is a storage on a node (pve-storage Storage.pm, storage_info).
type storageStatus struct {
	Storage string  `json:"storage,omitempty"`
	Type    string  `json:"type"`
	Content string  `json:"content"`
	Shared  int     `json:"shared"`
	Active  int     `json:"active"`
	Enabled int     `json:"enabled"`
	Total   uint64  `json:"total"`
	Used    uint64  `json:"used"`
	Avail   uint64  `json:"avail"`
	Share   float64 `json:"used_fraction,omitempty"`
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
			status.Share = float64(status.Used) / float64(status.Total)
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

	if len(st.Nodes) < len(s.config.Hosts) {
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

// contentEntry is a volume in a list of contents.
type contentEntry struct {
	VolID   string `json:"volid"`
	Content string `json:"content"`
	Format  string `json:"format"`
	Size    uint64 `json:"size"`
	Used    uint64 `json:"used,omitempty"`
	VMID    int    `json:"vmid,omitempty"`
	Parent  string `json:"parent,omitempty"`
	CTime   int64  `json:"ctime"`
}

// listContent answers GET …/storage/{storage}/content (pve-storage API2/Storage/Content.pm, index).
func (s *Server) listContent(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.state.storage(c.params.Get("storage"), c.node)
	if err != nil {
		return nil, err
	}

	volumes, err := st.Volumes(c.node)
	if err != nil {
		return nil, err
	}

	list := []contentEntry{}

	for _, v := range volumes {
		if c.params.Has("content") && c.params.Get("content") != v.Content ||
			c.params.Has("vmid") && c.params.Int("vmid", 0) != v.VMID ||
			s.checkVolume(c.identity, c.node, 0, v.ID) != nil {
			continue
		}

		list = append(list, contentEntry{
			VolID: v.ID, Content: v.Content, Format: v.Format, Size: v.Size, Used: v.Used, VMID: v.VMID,
			Parent: v.Parent, CTime: v.Created,
		})
	}

	return list, nil
}

// volumeOfCall is the volume that a request names, with or without its storage (Content.pm, real_volume_id).
func volumeOfCall(c *call) (id, storageID string, err error) {
	volume := c.params.Get("volume")
	storageID = c.params.Get("storage")

	named, _, found := strings.Cut(volume, ":")

	switch {
	case !found:
		return storageID + ":" + volume, storageID, nil
	case named != storageID:
		return "", "", schema.BadParam("volume", "storage ID mismatch (%s != %s)\n", named, storageID)
	default:
		return volume, storageID, nil
	}
}

// volumeInfo is one volume.
type volumeInfo struct {
	Path   string `json:"path"`
	Size   uint64 `json:"size"`
	Used   uint64 `json:"used"`
	Format string `json:"format"`
}

// getVolume answers GET …/content/{volume}.
func (s *Server) getVolume(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id, storageID, err := volumeOfCall(c)
	if err != nil {
		return nil, err
	}

	st, err := s.state.storage(storageID, c.node)
	if err != nil {
		return nil, err
	}

	v, ok := st.Find(c.node, id)
	if !ok {
		if _, name, _ := strings.Cut(id, ":"); st.Type.FileBased() && !parsableName(name) {
			return nil, fmt.Errorf("unable to parse directory volume name '%s'", name)
		}

		return nil, fmt.Errorf("volume_size_info on '%s' failed - no format", id)
	}

	if err := s.checkVolume(c.identity, c.node, 0, id); err != nil {
		return nil, err
	}

	format := v.Format
	if format == "iso" {
		format = "raw"
	}

	return volumeInfo{Path: st.FilePath(v), Size: v.Size, Used: v.Used, Format: format}, nil
}

func parsableName(name string) bool {
	kind, _, found := strings.Cut(name, "/")
	_, err := strconv.Atoi(kind)

	return found && (err == nil || slices.Contains([]string{"iso", "vztmpl", "backup", "snippets", "import"}, kind))
}

// deleteVolume answers DELETE …/content/{volume}. A file that is not there is a warning in the task's log.
func (s *Server) deleteVolume(c *call) (any, error) {
	s.mu.Lock()
	id, storageID, err := volumeOfCall(c)
	owner := ""

	if err == nil {
		owner, err = s.checkDeleteVolume(c, id, storageID)
	}
	s.mu.Unlock()

	if err != nil {
		return nil, err
	}

	return s.fork(c.node, "imgdel", owner+storageID, c.identity, 0, func(w *worker) error {
		release, err := s.lockStorage(w.ctx, c.node, storageID)
		if err != nil {
			return err
		}
		defer release()

		if err := s.wait(w.ctx, pace.VolumeRemove); err != nil {
			return err
		}

		return s.locked(func() error { return s.removeVolume(w, c.node, id, storageID) })
	})
}

func (s *Server) checkDeleteVolume(c *call, id, storageID string) (owner string, err error) {
	st, err := s.state.storage(storageID, c.node)
	if err != nil {
		return "", err
	}

	if _, name, _ := strings.Cut(id, ":"); st.Type.FileBased() && !parsableName(name) {
		return "", fmt.Errorf("unable to parse directory volume name '%s'", name)
	}

	if v, ok := st.Find(c.node, id); ok && v.VMID != 0 {
		owner = fmt.Sprintf("%d@", v.VMID)
	}

	return owner, s.state.Access.Check(c.identity, "/storage/"+storageID, false, "Datastore.Allocate")
}

func (s *Server) removeVolume(w *worker, node, id, storageID string) error {
	st, err := s.state.storage(storageID, node)
	if err != nil {
		return err
	}

	if _, ok := st.Find(node, id); !ok {
		w.print("disk image '%s' does not exist", id)
	}

	if err := st.Free(node, id); err != nil {
		return err
	}

	w.print("Removed volume '%s'", id)
	s.changed()

	return nil
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
