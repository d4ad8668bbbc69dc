package storages

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// Operations for VMs. A volume is identified by its ID, which begins with the storage's ID. Returned values are copies.

// On returns the definition of a storage on a node.
func (s *Service) On(id, node string) (storage.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	found, err := s.on(id, node)
	if err != nil {
		return storage.Definition{}, err
	}

	return found.Definition, nil
}

// OnNode is a storage on one node.
type OnNode struct {
	storage.Definition
	Node string
	Room storage.Room
}

// OnNodes returns all storages, sorted by ID, each on all its nodes.
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

// IDs returns the IDs of all volumes, as NODE/VOLUME for storages that are not shared.
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

// volume returns a volume and its storage on a node. The caller holds the lock.
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

// Owned returns the volumes on a node with the ID of a VM, from all storages.
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

// Allocate creates a blank volume in a storage.
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

// Copy creates a full copy of a node's volume in a storage.
func (s *Service) Copy(node, source, to string, r storage.Request) (storage.Volume, error) {
	return s.duplicate(node, source, to, r, (*storage.Storage).Copy)
}

// Link creates a linked clone of a node's base volume in its storage.
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

// RecordSystem records the system that was installed on a volume.
func (s *Service) RecordSystem(node, id, origin string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, v, err := s.volume(node, id)
	if err != nil {
		return err
	}

	v.Origin = origin
	s.env.Changed()

	return nil
}

// Free removes a volume. If it cannot be removed, it stays, as on a real host, which only warns.
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
