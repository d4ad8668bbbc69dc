package operator

import (
	"context"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/stacks"
)

// clusterEtcd is the etcd of a cluster: its members, and snapshots of it.
type clusterEtcd struct {
	*Operator

	cluster clusterInState
	program *stacks.Options // of the engine, as it is when a snapshot is kept
	sources stackSources
}

func (s *session) etcd() clusterEtcd {
	return clusterEtcd{Operator: s.Operator, cluster: s.inState(), program: &s.engine.program, sources: s.sources()}
}

// health returns the access to all control planes.
func (e clusterEtcd) health(ctx context.Context) (nodeops.Health, error) {
	sources, err := e.sources.ofCluster(ctx)
	if err != nil {
		return nodeops.Health{}, err
	}
	if len(sources.Talosconfig) == 0 {
		if sources.Talosconfig, err = e.cluster.administrator(ctx); err != nil {
			return nodeops.Health{}, err
		}
	}
	if len(sources.Talosconfig) == 0 {
		return nodeops.Health{}, refused(e.cluster.place.CompleteError(errNoTalosconfig))
	}
	return sources.Health().AndEndpoints("") // a control plane that is to be removed is no longer in the inventory
}

// snapshot keeps a snapshot; it returns nil if etcd runs on no node.
func (e clusterEtcd) snapshot(ctx context.Context, reason string) (*KeptSnapshot, error) {
	health, err := e.health(ctx)
	if err != nil {
		return nil, err
	}
	taken, err := health.EtcdSnapshot(ctx)
	if err != nil {
		return nil, e.cluster.place.CompleteError(fmt.Errorf("no control plane gives a snapshot of etcd (%w): see `em-infra status`, bring one back, then try again", err))
	}
	if taken == nil {
		return nil, nil
	}
	return e.keep(ctx, reason, *taken)
}

// keep takes a snapshot and keeps it. It takes none if there is neither a recipient nor a passphrase to seal it.
func (e clusterEtcd) keep(ctx context.Context, reason string, of nodeops.EtcdSnapshot) (*KeptSnapshot, error) {
	if _, err := stacks.SnapshotStore(e.workspace.Stack, e.cluster.inventory, *e.program); err != nil {
		return nil, refused(err)
	}
	kept, err := stacks.KeepSnapshot(ctx, e.workspace.Stack, e.cluster.inventory, *e.program, stacks.SnapshotRequest{At: e.clock.Now(), Reason: reason, Of: of})
	if err != nil {
		return nil, err
	}
	return &kept, nil
}

// tell reports where a snapshot is kept.
func (e clusterEtcd) tell(kept KeptSnapshot) {
	e.emit(Note{Text: e.cluster.place.Complete("snapshot of etcd: " + kept.Text())})
}

// send copies the snapshots of earlier runs into the bucket of the inventory if it lacks them. If that fails, it only emits a note: the
// snapshots are kept here, and the next run tries again.
func (e clusterEtcd) send(ctx context.Context) error {
	local, err := e.EtcdSnapshots()
	if err != nil || len(local) == 0 {
		return err
	}
	if e.cluster.inventory.Cluster.Backups.Bucket.IsZero() {
		return nil
	}
	copies, err := CopySnapshots(ctx, e.workspace.Stack, e.cluster.inventory, *e.program)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(copies.Sent) > 0 {
		e.emit(Note{Text: fmt.Sprintf("copied to %s, which lacked them: %s", copies.Bucket, strings.Join(copies.Sent, ", "))})
	}
	if err != nil {
		e.emit(Note{Text: e.cluster.place.Complete(fmt.Sprintf("warning: snapshots of etcd may be on this machine alone, because %s; the next `em-infra up` or `em-infra etcd snapshot` copies them", err))})
	}
	return nil
}
