package storage

import (
	"fmt"
	"slices"
)

// CanSnapshot reports whether the storage supports snapshots of a volume: in the pool itself, or in the file's format
// (pve-storage ZFSPoolPlugin.pm, LvmThinPlugin.pm, RBDPlugin.pm and Plugin.pm, volume_has_feature).
func (s *Storage) CanSnapshot(v *Volume) bool {
	if s.Type.FileBased() {
		return v.Format == "qcow2"
	}

	return s.Type == ZFSPool || s.Type == LVMThin || s.Type == RBD
}

// Snapshot marks the current state of a volume under a name.
func (s *Storage) Snapshot(node, id, name string) error {
	v, err := s.volume(node, id)
	if err != nil {
		return err
	}

	v.Snapshots = append(v.Snapshots, name)

	return nil
}

// CheckRollback returns why a rollback of a volume is impossible: ZFS supports it to the latest snapshot only
// (ZFSPoolPlugin.pm, volume_rollback_is_possible).
func (s *Storage) CheckRollback(node, id, name string) error {
	v, err := s.volume(node, id)
	if err != nil {
		return err
	}

	switch at := slices.Index(v.Snapshots, name); {
	case at < 0:
		return fmt.Errorf("can't rollback, snapshot '%s' does not exist on '%s'", name, id)
	case s.Type == ZFSPool && at < len(v.Snapshots)-1:
		return fmt.Errorf("can't rollback, '%s' is not most recent snapshot on '%s'", name, id)
	default:
		return nil
	}
}

// DropSnapshot deletes a snapshot of a volume.
func (s *Storage) DropSnapshot(node, id, name string) error {
	v, err := s.volume(node, id)
	if err != nil {
		return err
	}

	v.Snapshots = slices.DeleteFunc(v.Snapshots, func(other string) bool { return other == name })

	return nil
}

func (s *Storage) volume(node, id string) (*Volume, error) {
	v, ok := s.Find(node, id)
	if !ok {
		return nil, fmt.Errorf("volume '%s' does not exist", id)
	}

	return v, nil
}
