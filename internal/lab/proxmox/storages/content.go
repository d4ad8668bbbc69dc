package storages

import (
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
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

// listContent handles GET …/storage/{storage}/content (pve-storage API2/Storage/Content.pm, index).
func (s *Service) listContent(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(c.Params.Get("storage"), c.Node)
	if err != nil {
		return nil, err
	}

	volumes, err := st.Volumes(c.Node)
	if err != nil {
		return nil, err
	}

	list := []contentEntry{}

	for _, v := range volumes {
		if c.Params.Has("content") && c.Params.Get("content") != v.Content ||
			c.Params.Has("vmid") && c.Params.Int("vmid", 0) != v.VMID ||
			s.checkVolume(c.Identity, c.Node, 0, v.ID) != nil {
			continue
		}

		size := v.Size
		if storage.FolderOf(v.Content) != "" {
			size = v.Used // the list shows the length of a file, not the size of the disk in it
		}

		list = append(list, contentEntry{
			VolID: v.ID, Content: v.Content, Format: v.Format, Size: size, Used: v.Used, VMID: v.VMID,
			Parent: v.Parent, CTime: v.Created,
		})
	}

	return list, nil
}

// volumeOfCall returns the volume of a request, which may be named without its storage (Content.pm, real_volume_id).
func volumeOfCall(c *api.Call) (id, storageID string, err error) {
	volume := c.Params.Get("volume")
	storageID = c.Params.Get("storage")

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

// getVolume handles GET …/content/{volume}.
func (s *Service) getVolume(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id, storageID, err := volumeOfCall(c)
	if err != nil {
		return nil, err
	}

	st, err := s.on(storageID, c.Node)
	if err != nil {
		return nil, err
	}

	v, ok := st.Find(c.Node, id)
	if !ok {
		if err := st.CheckName(id); err != nil {
			return nil, err
		}

		return nil, fmt.Errorf("volume_size_info on '%s' failed - no format", id)
	}

	if err := s.checkVolume(c.Identity, c.Node, 0, id); err != nil {
		return nil, err
	}

	format := v.Format
	if format == "iso" {
		format = "raw"
	}

	return volumeInfo{Path: st.FilePath(v), Size: v.Size, Used: v.Used, Format: format}, nil
}

// deleteVolume handles DELETE …/content/{volume}. A missing file is a warning in the task's log.
func (s *Service) deleteVolume(c *api.Call) (any, error) {
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

	upid, err := s.env.Tasks.Fork(c.Node, "imgdel", owner+storageID, c.Identity, 0, func(w *task.Worker) error {
		release, err := s.Lock(w.Ctx, w.Info, c.Node, storageID)
		if err != nil {
			return err
		}
		defer release()

		return s.removeInTime(w, c.Node, id, storageID)
	})
	if err != nil {
		return nil, err
	}

	return upid, s.awaitUnlink(c, upid, storageID)
}

// removeInTime removes a volume after the time that this takes. A file is removed at once.
func (s *Service) removeInTime(w *task.Worker, node, id, storageID string) error {
	if !s.isFileBased(node, storageID) {
		if err := s.env.Wait(w.Ctx, pace.VolumeRemove); err != nil {
			return err
		}
	}

	return s.locked(func() error { return s.removeVolume(w, node, id, storageID) })
}

// awaitUnlink delays the response until a file is gone. On a real host the two race, and the unlink is done before the next
// request arrives. The provider relies on that when it requests a download right after a removal (terraform-provider-proxmox
// v0.73.0, fwprovider/resource_download_file.go).
func (s *Service) awaitUnlink(c *api.Call, upid, storageID string) error {
	if !s.isFileBased(c.Node, storageID) {
		return nil
	}

	return s.env.Tasks.Await(c.Ctx, upid)
}

func (s *Service) isFileBased(node, storageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageID, node)

	return err == nil && st.Type.FileBased()
}

func (s *Service) checkDeleteVolume(c *api.Call, id, storageID string) (owner string, err error) {
	st, err := s.on(storageID, c.Node)
	if err != nil {
		return "", err
	}

	if err := st.CheckName(id); err != nil {
		return "", err
	}

	if v, ok := st.Find(c.Node, id); ok && v.VMID != 0 {
		owner = fmt.Sprintf("%d@", v.VMID)
	}

	return owner, s.permissions.Check(c.Identity, "/storage/"+storageID, false, "Datastore.Allocate")
}

func (s *Service) removeVolume(w *task.Worker, node, id, storageID string) error {
	st, err := s.on(storageID, node)
	if err != nil {
		return err
	}

	if _, ok := st.Find(node, id); !ok {
		w.Print("disk image '%s' does not exist", id)
	}

	if err := st.Free(node, id); err != nil {
		return err
	}

	w.Print("Removed volume '%s'", id)
	s.env.Changed()

	return nil
}
