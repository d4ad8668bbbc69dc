package storages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// What VMs ask of the storages. A volume is named by its ID, which begins with that of its storage; what is returned is a copy.

// On is the definition of a storage that a node has.
func (s *Service) On(id, node string) (storage.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	found, err := s.on(id, node)
	if err != nil {
		return storage.Definition{}, err
	}

	return found.Definition, nil
}

// OnNode is a storage as one node has it.
type OnNode struct {
	storage.Definition
	Node string
	Room storage.Room
}

// OnNodes are all storages by ID, each on all nodes that have it.
func (s *Service) OnNodes() []OnNode {
	s.mu.Lock()
	defer s.mu.Unlock()

	var list []OnNode

	for _, id := range slices.Sorted(maps.Keys(s.storages)) {
		for _, node := range s.env.Nodes.Names() {
			if room, err := s.storages[id].Room(node); err == nil {
				list = append(list, OnNode{Definition: s.storages[id].Definition, Node: node, Room: room})
			}
		}
	}

	return list
}

// IDs lists the IDs of all volumes, as NODE/VOLUME for those that are not shared.
func (s *Service) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []string{}

	for _, id := range slices.Sorted(maps.Keys(s.storages)) {
		st := s.storages[id]

		for i, node := range s.env.Nodes.Names() {
			volumes, err := st.Volumes(node)
			if err != nil || st.Shared && i > 0 {
				continue
			}

			for _, v := range volumes {
				if st.Shared {
					list = append(list, v.ID)
				} else {
					list = append(list, fmt.Sprintf("%s/%s", node, v.ID))
				}
			}
		}
	}

	return list
}

func storageOf(volume string) string {
	id, _, _ := strings.Cut(volume, ":")
	return id
}

// volume finds a volume and its storage on a node. The lock is held.
func (s *Service) volume(node, id string) (*storage.Storage, *storage.Volume, error) {
	st, err := s.on(storageOf(id), node)
	if err != nil {
		return nil, nil, err
	}

	v, ok := st.Find(node, id)
	if !ok {
		return nil, nil, fmt.Errorf("volume '%s' does not exist", id)
	}

	return st, v, nil
}

// Volume returns a volume of a node.
func (s *Service) Volume(node, id string) (storage.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, v, err := s.volume(node, id)
	if err != nil {
		return storage.Volume{}, err
	}

	return copyOf(v), nil
}

func copyOf(v *storage.Volume) storage.Volume {
	c := *v
	c.Snapshots = slices.Clone(v.Snapshots)

	return c
}

// Owned lists the volumes on a node that bear the ID of a VM, those of all storages.
func (s *Service) Owned(node string, vmid int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	var volumes []string

	for _, id := range slices.Sorted(maps.Keys(s.storages)) {
		for _, v := range s.storages[id].Owned(node, vmid) {
			volumes = append(volumes, v.ID)
		}
	}

	return volumes
}

// Linked reports whether a volume is the base of another one.
func (s *Service) Linked(node, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), node)
	if err != nil {
		return false
	}

	volumes, err := st.Volumes(node)

	return err == nil && slices.ContainsFunc(volumes, func(v *storage.Volume) bool { return v.Parent == id })
}

// Allocate makes a blank volume in a storage.
func (s *Service) Allocate(id string, r storage.Request) (storage.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(id, r.Node)
	if err != nil {
		return storage.Volume{}, err
	}

	v, err := st.Allocate(r)
	if err != nil {
		return storage.Volume{}, err
	}

	return copyOf(v), nil
}

// Copy makes a full copy of a volume of a node in a storage.
func (s *Service) Copy(node, source, to string, r storage.Request) (storage.Volume, error) {
	return s.duplicate(node, source, to, r, (*storage.Storage).Copy)
}

// Link makes a linked clone of a base volume of a node, in its storage.
func (s *Service) Link(node, source, to string, r storage.Request) (storage.Volume, error) {
	return s.duplicate(node, source, to, r, (*storage.Storage).Link)
}

func (s *Service) duplicate(
	node, source, to string, r storage.Request, how func(*storage.Storage, *storage.Volume, storage.Request) (*storage.Volume, error),
) (storage.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	target, err := s.on(to, r.Node)
	if err != nil {
		return storage.Volume{}, err
	}

	_, from, err := s.volume(node, source)
	if err != nil {
		return storage.Volume{}, err
	}

	made, err := how(target, from, r)
	if err != nil {
		return storage.Volume{}, err
	}

	return copyOf(made), nil
}

// MakeBase turns a volume into the base volume of a template and returns its new ID.
func (s *Service) MakeBase(node, id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), node)
	if err != nil {
		return "", err
	}

	return st.MakeBase(node, id)
}

// MoveNode moves a volume to the storage of the same name on another node.
func (s *Service) MoveNode(from, to, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), from)
	if err != nil {
		return err
	}

	return st.MoveNode(from, to, id)
}

// Resize grows a volume.
func (s *Service) Resize(node, id string, bytes uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), node)
	if err != nil {
		return err
	}

	return st.Resize(node, id, bytes)
}

// Free removes a volume; what cannot be removed stays, as on a real host, which only warns.
func (s *Service) Free(node, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), node)
	if err == nil {
		err = st.Free(node, id)
	}

	if err != nil {
		s.env.Note("volume not freed", err)
	}
}

// CanSnapshot reports whether the storage of a volume makes snapshots of it.
func (s *Service) CanSnapshot(node, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, v, err := s.volume(node, id)
	if err != nil {
		return false, err
	}

	return st.CanSnapshot(v), nil
}

// CheckRollback reports why a volume cannot go back to a snapshot.
func (s *Service) CheckRollback(node, id, name string) error {
	return s.withSnapshot(node, id, name, (*storage.Storage).CheckRollback)
}

// Snapshot marks the present of a volume under a name.
func (s *Service) Snapshot(node, id, name string) error {
	return s.withSnapshot(node, id, name, (*storage.Storage).Snapshot)
}

// DropSnapshot forgets a snapshot of a volume.
func (s *Service) DropSnapshot(node, id, name string) error {
	return s.withSnapshot(node, id, name, (*storage.Storage).DropSnapshot)
}

func (s *Service) withSnapshot(node, id, name string, do func(st *storage.Storage, node, id, name string) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(storageOf(id), node)
	if err != nil {
		return err
	}

	return do(st, node, id, name)
}

// CheckVolume demands access to an existing volume (pve-storage Storage.pm, check_volume_access).
func (s *Service) CheckVolume(identity, node string, vmid int, volume string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.checkVolume(identity, node, vmid, volume)
}

// checkVolume is CheckVolume. The lock is held.
func (s *Service) checkVolume(identity, node string, vmid int, volume string) error {
	id, name, found := strings.Cut(volume, ":")
	if !found || strings.HasPrefix(volume, "/") {
		if identity == access.Root {
			return nil
		}

		return fmt.Errorf("Only root can pass arbitrary filesystem paths.")
	}

	st, err := s.on(id, node)
	if err != nil {
		return err
	}

	if s.permissions.Allowed(identity, "/storage/"+id, "Datastore.Allocate") {
		return nil
	}

	if strings.HasPrefix(name, "iso/") || strings.HasPrefix(name, "vztmpl/") || strings.HasPrefix(name, "import/") {
		return s.permissions.Check(identity, "/storage/"+id, true, "Datastore.AllocateSpace", "Datastore.Audit")
	}

	v, ok := st.Find(node, volume)

	switch {
	case ok && v.VMID == vmid:
		return nil
	case ok && v.VMID != 0:
		if err := s.permissions.Check(identity, "/storage/"+id, false, "Datastore.Audit"); err != nil {
			return err
		}

		return s.permissions.Check(identity, "/vms/"+strconv.Itoa(v.VMID), false, "VM.Config.Disk")
	default:
		return fmt.Errorf("missing privileges to access %s", volume)
	}
}
