package storages

import "github.com/em-infra/em-infra/internal/lab/proxmox/storage"

// CanSnapshot reports whether the storage of a volume supports snapshots of it.
func (s *Service) CanSnapshot(node, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, v, err := s.volume(node, id)
	if err != nil {
		return false, err
	}

	return st.CanSnapshot(v), nil
}

// CheckRollback returns why a rollback of a volume is impossible.
func (s *Service) CheckRollback(node, id, name string) error {
	return s.withSnapshot(node, id, name, (*storage.Storage).CheckRollback)
}

// Snapshot marks the current state of a volume under a name.
func (s *Service) Snapshot(node, id, name string) error {
	return s.withSnapshot(node, id, name, (*storage.Storage).Snapshot)
}

// DropSnapshot deletes a snapshot of a volume.
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
