package talos

import (
	"errors"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

func (f *Fleet) openDisks() error {
	all, err := f.store.disks()
	if err != nil {
		return err
	}

	for _, c := range all {
		opened, err := newDisk(f.store, c)
		if err != nil {
			return err
		}

		f.disks[c.ID] = opened
	}

	return nil
}

// systemDisk returns the first disk with Talos of a machine, nil for none.
func (f *Fleet) systemDisk(hardware Hardware) *disk {
	for _, disk := range hardware.Disks {
		if written := f.written(disk.ID); written != nil && written.read().installed() {
			return written
		}
	}

	return nil
}

// installedOn returns the disk in a drive of a machine if Talos is installed there, otherwise nil.
func (f *Fleet) installedOn(hardware Hardware, drive string) *disk {
	i := slices.IndexFunc(hardware.Disks, func(d Disk) bool { return d.drive() == drive })
	if i < 0 {
		return nil
	}

	if written := f.written(hardware.Disks[i].ID); written != nil && written.read().installed() {
		return written
	}

	return nil
}

// written returns a disk with contents, nil for a blank one.
func (f *Fleet) written(id string) *disk {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.disks[id]
}

// format replaces the contents of a disk.
func (f *Fleet) format(c contents) (*disk, error) {
	formatted, err := newDisk(f.store, c)
	if err == nil {
		err = f.store.saveDisk(c)
	}

	if err != nil {
		return nil, err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.disks[c.ID] = formatted

	return formatted, nil
}

// erase makes a disk blank.
func (f *Fleet) erase(id string) error {
	f.mu.Lock()
	erased := f.disks[id]
	delete(f.disks, id)
	f.mu.Unlock()

	if erased == nil {
		return nil
	}

	return errors.Join(erased.erase(), remove(f.store.uploadFile(id)), f.forgetEtcd(erased.read().Etcd))
}

// forgetEtcd removes an etcd cluster once its last data directory is gone.
func (f *Fleet) forgetEtcd(data etcd.Data) error {
	if data.Empty() {
		return nil
	}

	f.mu.Lock()
	for _, d := range f.disks {
		if d.read().Etcd.Cluster == data.Cluster {
			f.mu.Unlock()

			return nil
		}
	}
	f.mu.Unlock()

	f.etcd.Forget(data.Cluster)

	f.config.Kubernetes.ClusterGone(etcd.FormatID(data.Cluster))

	return f.saveEtcd()
}

// saveEtcd writes the memberships after each change. The last writer has the newest ones.
func (f *Fleet) saveEtcd() error {
	f.writing.Lock()
	defer f.writing.Unlock()

	return f.store.saveEtcd(f.etcd.Clusters())
}
