package components

import (
	"context"
	"fmt"
	"sync"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// EtcdSnapshot is a snapshot of etcd that can be taken, with the versions that run.
type EtcdSnapshot = nodeops.EtcdSnapshot

// SnapshotKeeper takes a snapshot of etcd and keeps it, and returns where, for a person. The error is why there is none.
type SnapshotKeeper func(ctx context.Context, taken EtcdSnapshot) (kept string, err error)

// etcdSnapshot takes one snapshot in a run, before the first control plane is changed.
type etcdSnapshot struct {
	keep SnapshotKeeper

	mu     sync.Mutex
	taken  bool
	waited bool // whether it was waited for an etcd, and none came
}

// before takes the snapshot unless it was taken, or etcd runs on no node. A control plane is not changed without it: what goes wrong
// then would have no way back. It waits for machines that boot. Where there is no etcd, the next change looks again, since an etcd may
// have come meanwhile, and does not wait once more.
func (s *etcdSnapshot) before(ctx context.Context, node rolling.Node, cluster nodeops.Health, wait nodeops.SnapshotWait) error {
	if s.keep == nil || !node.ControlPlane {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return nil
	}
	if s.waited {
		wait.Starts = 0
	}
	snapshot, err := cluster.AwaitEtcdSnapshot(ctx, wait)
	if err == nil && snapshot == nil {
		s.waited = true
		return nil
	}
	kept := ""
	if err == nil {
		kept, err = s.keep(ctx, *snapshot)
	}
	if err != nil {
		return fmt.Errorf("%s is untouched, because no snapshot of etcd could be kept before (%w): mend that, then run up again", node.Name, err)
	}
	s.taken = true
	if kept != "" {
		cluster.Say("snapshot of etcd: %s", kept)
	}
	return nil
}
