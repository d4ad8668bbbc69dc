package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/workspace"
)

// EtcdCopy is a snapshot of etcd, and whether it is on this machine and in the bucket.
type EtcdCopy = etcdsnapshot.Copied

// EtcdCopies returns the snapshots of etcd of the stack, newest first, on this machine and in the bucket of the inventory. It emits a note
// if the bucket does not say what it has; those on this machine are returned then.
func (o *Operator) EtcdCopies(ctx context.Context) ([]EtcdCopy, error) {
	copies, unlisted, err := o.etcdCopies(ctx)
	if unlisted != nil {
		o.emit(Note{Text: fmt.Sprintf("warning: snapshots in the bucket are not listed, because %s", unlisted)})
	}
	return copies, err
}

// etcdCopies returns the snapshots, and why the bucket's are not among them.
func (o *Operator) etcdCopies(ctx context.Context) (copies []EtcdCopy, unlisted, err error) {
	local, err := o.EtcdSnapshots()
	if err != nil {
		return nil, nil, err
	}
	remote, unlisted := o.bucketSnapshots(ctx)
	return etcdsnapshot.Merge(local, remote), unlisted, nil
}

// bucketSnapshots returns the snapshots in the bucket of the inventory, newest first; none without a bucket.
func (o *Operator) bucketSnapshots(ctx context.Context) ([]EtcdSnapshot, error) {
	remote, err := o.snapshotBucket(ctx)
	if err != nil || remote == nil {
		return nil, err
	}
	found, err := remote.List(ctx)
	return found, errors.Join(err, remote.Objects.Close())
}

// snapshotBucket returns the copies in the bucket of the inventory; nil if it names none. The caller closes it.
func (o *Operator) snapshotBucket(ctx context.Context) (*etcdsnapshot.Remote, error) {
	inv, err := o.Inventory()
	if err != nil {
		return nil, err
	}
	return openSnapshotBucket(ctx, o.workspace.Stack, inv, o.workspace.BucketStandIn())
}

// findSnapshot returns the snapshot with that name; "" means the newest. One that is not on this machine is copied from the bucket.
func (o *Operator) findSnapshot(ctx context.Context, name string) (EtcdSnapshot, error) {
	if name != "" {
		if local, err := o.snapshots().Find(name); err == nil {
			return local, nil // the bucket is not needed
		}
	}
	copies, unlisted, err := o.etcdCopies(ctx)
	if err != nil {
		return EtcdSnapshot{}, refused(o.remedies().CompleteError(err))
	}
	at := slices.IndexFunc(copies, func(c EtcdCopy) bool { return name == "" || c.Name == name })
	if at < 0 {
		return EtcdSnapshot{}, refused(o.remedies().CompleteError(o.noSnapshot(name, len(copies), unlisted)))
	}
	if unlisted != nil {
		o.emit(Note{Text: fmt.Sprintf("warning: %s is the newest snapshot here, and a newer one in the bucket would not be seen, because %s", copies[at].Name, unlisted)})
	}
	if copies[at].Local {
		return copies[at].Snapshot, nil
	}
	return o.fetchSnapshot(ctx, copies[at].Snapshot)
}

// noSnapshot returns the error of a snapshot that is not among the known ones.
func (o *Operator) noSnapshot(name string, known int, unlisted error) error {
	what := fmt.Sprintf("there is no snapshot %q", name)
	if known == 0 {
		what = fmt.Sprintf("stack %s has no snapshot of etcd in %s", o.workspace.Stack, workspace.Nearby(o.snapshots().Dir))
	}
	switch {
	case unlisted != nil:
		return fmt.Errorf("%s, and the bucket cannot be listed, because %w", what, unlisted)
	case known == 0:
		return fmt.Errorf("%s: take one with `em-infra etcd snapshot` while etcd works; where it does not, what remains is a backup of a control plane's VM, or an empty cluster by `em-infra up --allow-replace NODE`", what)
	default:
		return fmt.Errorf("%s: choose one that `em-infra etcd list` shows", what)
	}
}

// fetchSnapshot copies a snapshot from the bucket to this machine.
func (o *Operator) fetchSnapshot(ctx context.Context, snapshot EtcdSnapshot) (EtcdSnapshot, error) {
	remote, err := o.snapshotBucket(ctx)
	if err != nil {
		return EtcdSnapshot{}, err
	}
	fetched, err := remote.Fetch(ctx, snapshot, o.snapshots())
	if err := errors.Join(err, remote.Objects.Close()); err != nil {
		return EtcdSnapshot{}, fmt.Errorf("the snapshot %s: %w", snapshot.Name, err)
	}
	o.emit(Note{Text: fmt.Sprintf("the snapshot %s is copied from %s", snapshot.Name, remote.Objects)})
	return fetched, nil
}

// PrunedSnapshots are the names of the snapshots that were deleted.
type PrunedSnapshots struct {
	// Local are those on this machine, Remote those in the bucket, whose URL is Bucket.
	Local, Remote []string
	Bucket        string
}

// PruneEtcdSnapshots deletes the snapshots that the inventory's rule does not keep, on this machine and in the bucket. In the bucket it
// deletes only what em-infra has stored there for this cluster, and with addons.etcdBackup what the cluster itself has.
func (o *Operator) PruneEtcdSnapshots(ctx context.Context) (pruned PrunedSnapshots, err error) {
	inv, err := o.Inventory()
	if err != nil {
		return pruned, refused(err)
	}
	store := o.snapshots()
	store.Keep = inv.Cluster.Backups.Keep.Rule()
	if pruned.Local, err = store.Prune(); err != nil {
		return pruned, err
	}
	remote, err := o.snapshotBucket(ctx)
	if err != nil || remote == nil {
		return pruned, err
	}
	pruned.Bucket = remote.Objects.String()
	pruned.Remote, err = remote.Prune(ctx)
	return pruned, errors.Join(err, remote.Objects.Close())
}
