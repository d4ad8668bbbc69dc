package proxmox

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

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
		if err := st.CheckName(id); err != nil {
			return nil, err
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

	upid, err := s.fork(c.node, "imgdel", owner+storageID, c.identity, 0, func(w *worker) error {
		release, err := s.lockStorage(w.ctx, w.info, c.node, storageID)
		if err != nil {
			return err
		}
		defer release()

		return s.removeInTime(w, c.node, id, storageID)
	})
	if err != nil {
		return nil, err
	}

	return upid, s.awaitUnlink(c, upid, storageID)
}

// removeInTime removes a volume after the time that its destruction takes; a file is unlinked at once.
func (s *Server) removeInTime(w *worker, node, id, storageID string) error {
	if !s.isFileBased(node, storageID) {
		if err := s.wait(w.ctx, pace.VolumeRemove); err != nil {
			return err
		}
	}

	return s.locked(func() error { return s.removeVolume(w, node, id, storageID) })
}

// awaitUnlink lets the answer leave after a file is gone. On a real host the two race, and the unlink wins by the time
// that the next request takes to arrive; the provider relies on that when it asks for a download right after a removal
// (terraform-provider-proxmox v0.73.0, fwprovider/resource_download_file.go).
func (s *Server) awaitUnlink(c *call, upid, storageID string) error {
	if !s.isFileBased(c.node, storageID) {
		return nil
	}

	return s.await(c.ctx, upid)
}

func (s *Server) isFileBased(node, storageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.state.storage(storageID, node)

	return err == nil && st.Type.FileBased()
}

func (s *Server) checkDeleteVolume(c *call, id, storageID string) (owner string, err error) {
	st, err := s.state.storage(storageID, c.node)
	if err != nil {
		return "", err
	}

	if err := st.CheckName(id); err != nil {
		return "", err
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
