package components

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// SnapshotKeeper keeps a snapshot of etcd. take writes it, and is called once. The error is why there is none.
type SnapshotKeeper func(take func(io.Writer) error) error

// etcdSnapshot takes one snapshot in a run, before the first control plane is changed.
type etcdSnapshot struct {
	keep SnapshotKeeper

	mu    sync.Mutex
	taken bool
}

// before takes the snapshot unless it was taken, or etcd runs on no node. A control plane is not changed without it: what goes wrong
// then would have no way back. take is [nodeops.Health.EtcdSnapshot].
func (s *etcdSnapshot) before(ctx context.Context, node rolling.Node, take func(context.Context) (func(io.Writer) error, error)) error {
	if s.keep == nil || !node.ControlPlane {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return nil
	}
	write, err := take(ctx)
	if err == nil && write != nil {
		err = s.keep(write)
	}
	if err != nil {
		return fmt.Errorf("%s is untouched, because no snapshot of etcd could be kept before (%w): mend that, then run up again", node.Name, err)
	}
	s.taken = true
	return nil
}
