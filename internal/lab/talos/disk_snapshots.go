package talos

import (
	"errors"
	"fmt"
	"io/fs"
)

// diskSnapshot is a copy of a disk's contents.
type diskSnapshot struct {
	Blank    bool     `json:"blank,omitempty"`
	Contents contents `json:"contents"`
}

// SnapshotDisks keeps a copy of disks under a name, as the host's storage does. The data of etcd belongs to its cluster and
// is not part of it.
func (f *Fleet) SnapshotDisks(ids []string, name string) error {
	var errs []error

	for _, id := range ids {
		f.mu.Lock()
		written := f.disks[id]
		f.mu.Unlock()

		kept := diskSnapshot{Blank: written == nil}
		if written != nil {
			kept.Contents = written.read()
		}

		errs = append(errs, f.store.saveSnapshot(id, name, kept))
	}

	return errors.Join(errs...)
}

// RollbackDisks restores the copies of disks. Their machine is off.
func (f *Fleet) RollbackDisks(ids []string, name string) error {
	var errs []error

	for _, id := range ids {
		kept, err := f.store.snapshot(id, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("disk %s has no snapshot %s", id, name)
		}

		switch {
		case err != nil:
		case kept.Blank:
			err = f.erase(id)
		default:
			_, err = f.format(kept.Contents)
		}

		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// DropDiskSnapshots deletes the copies.
func (f *Fleet) DropDiskSnapshots(ids []string, name string) error {
	var errs []error

	for _, id := range ids {
		errs = append(errs, f.store.removeSnapshot(id, name))
	}

	return errors.Join(errs...)
}
