package talos

import (
	"errors"
	"fmt"
	"io/fs"
)

// diskSnapshot is what was on a disk.
type diskSnapshot struct {
	Blank    bool     `json:"blank,omitempty"`
	Contents contents `json:"contents"`
}

// SnapshotDisks keeps what is on disks under a name, as the storage of the host does. etcd's own data is that of its cluster
// and goes on.
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

// RollbackDisks puts back what was on disks when they were kept. Their machine is off.
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

// DropDiskSnapshots forgets what was kept.
func (f *Fleet) DropDiskSnapshots(ids []string, name string) error {
	var errs []error

	for _, id := range ids {
		errs = append(errs, f.store.removeSnapshot(id, name))
	}

	return errors.Join(errs...)
}
