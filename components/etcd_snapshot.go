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

// SnapshotKeeper takes a snapshot of etcd, keeps it, and returns a text for the user that names the place. The error is why there is none.
type SnapshotKeeper func(ctx context.Context, taken EtcdSnapshot) (kept string, err error)

// etcdSnapshot takes one snapshot in a run, before the first control plane is changed.
type etcdSnapshot struct {
	keep SnapshotKeeper

	mu     sync.Mutex
	taken  bool
	waited bool // whether a wait for etcd has ended without one
}

// before takes the snapshot unless it was taken already, or etcd runs on no node. A control plane is not changed without it: a failed change could
// not be undone. It waits for machines that boot. If there is no etcd, the next change looks again, since etcd may run by then, but does not wait a
// second time.
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
