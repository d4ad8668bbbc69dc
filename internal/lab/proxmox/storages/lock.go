package storages

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Lock takes the lock for the allocation of volumes in a storage, and waits for the time of an allocation.
func (s *Service) Lock(ctx context.Context, info task.Info, node, id string) (func(), error) {
	st, err := s.On(id, node)
	if err != nil {
		return nil, err
	}

	release, err := s.takeStorage(ctx, node, st)
	if err != nil {
		return nil, err
	}

	info.Storage = id

	err = s.env.Faults.Step(ctx, info, task.StepAllocate)
	if err == nil {
		err = s.env.Wait(ctx, pace.VolumeAllocate)
	}

	if err != nil {
		release()
		return nil, err
	}

	return release, nil
}

// takeStorage takes a storage's lock: a file of the node for a local storage, the cluster file system for a shared one
// (pve-storage Storage/Plugin.pm, cluster_lock_storage; pve-cluster Cluster.pm, cfs_lock).
func (s *Service) takeStorage(ctx context.Context, node string, st storage.Definition) (func(), error) {
	name := "/var/lock/pve-manager/pve-storage-" + st.ID
	file, text := node+name, flock.TimeoutText(name)

	if st.Shared {
		file = "/etc/pve/priv/lock/storage-" + st.ID
		text = fmt.Sprintf("cfs-lock 'storage-%s' error: got lock request timeout", st.ID)
	}

	release, err := s.env.Locks.Exclusive(ctx, file, s.env.Pace.Timeout(pace.StorageLockTimeout))

	var late *flock.TimeoutError
	if errors.As(err, &late) {
		return nil, &flock.TimeoutError{Text: text}
	}

	return release, err
}
