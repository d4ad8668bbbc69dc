package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// SnapshotCopies are the snapshots of etcd that were copied into the bucket of the inventory.
type SnapshotCopies = stacks.SnapshotCopies

// SnapshotPlaces are places of snapshots of etcd other than those of the stack.
type SnapshotPlaces struct {
	// Folder has them on this machine. Default: empty, that of the stack's backups.
	Folder string
	// Bucket is the URL of what stands for the bucket of the inventory. Default: empty, the bucket, or in a rehearsal its folder.
	Bucket string
}

// CopyEtcdSnapshots copies the snapshots of etcd that the bucket of the inventory lacks into it, newest first, and deletes there what
// backups.keep does not keep. The program calls it through the command line. With an error it returns what it has copied before.
func (o *Operator) CopyEtcdSnapshots(ctx context.Context, from SnapshotPlaces) (SnapshotCopies, error) {
	inv, err := o.Inventory()
	if err != nil {
		return SnapshotCopies{}, refused(err)
	}
	if inv.Cluster.Backups.Bucket.IsZero() {
		return SnapshotCopies{}, refused(errors.New("cluster.yaml names no bucket for snapshots of etcd: set backups.bucket"))
	}
	return CopySnapshots(ctx, o.workspace.Stack, inv, stacks.Options{
		Snapshots: cmp.Or(from.Folder, o.workspace.Snapshots()), BucketStandIn: cmp.Or(from.Bucket, o.workspace.BucketStandIn()),
	})
}

// CopySnapshots is a [stacks.SnapshotCopier] that needs no other process.
func CopySnapshots(ctx context.Context, stack string, inv *inventory.Inventory, options stacks.Options) (copies SnapshotCopies, err error) {
	local, err := etcdsnapshot.Store{Dir: cmp.Or(options.Snapshots, workspace.Snapshots(options.Root, stack))}.List()
	if err != nil {
		return copies, err
	}
	remote, err := openSnapshotBucket(ctx, stack, inv, options.BucketStandIn)
	if err != nil {
		return copies, err
	}
	remote.Spared = options.SparedSnapshots
	copies.Bucket = remote.Objects.String()
	copies.Sent, err = remote.SendMissing(ctx, local)
	return copies, errors.Join(err, remote.Objects.Close())
}

// openSnapshotBucket returns where the copies of the snapshots of etcd are in the bucket of the inventory, or in what stands for it; nil if
// it names none. The caller closes it.
func openSnapshotBucket(ctx context.Context, stack string, inv *inventory.Inventory, standIn string) (*etcdsnapshot.Remote, error) {
	backups := inv.Cluster.Backups
	if backups.Bucket.IsZero() {
		return nil, nil
	}
	if err := makeStandIn(standIn); err != nil {
		return nil, err
	}
	objects, err := bucket.Open(ctx, cmp.Or(standIn, backups.Bucket.String()), stacks.SnapshotFolder(stack), bucket.Limits{})
	if err != nil {
		return nil, err
	}
	return &etcdsnapshot.Remote{Objects: objects, Cluster: inv.Cluster.Name, Keep: backups.Keep.Rule(), OfPods: inv.Cluster.Addons.EtcdBackup != nil}, nil
}

// makeStandIn creates the folder that stands for a bucket, if it is one.
func makeStandIn(url string) error {
	if url == "" {
		return nil
	}
	at, err := address.Parse(url)
	if err != nil {
		return fmt.Errorf("the URL of the bucket %w", err)
	}
	if at.Scheme != address.File {
		return nil
	}
	return os.MkdirAll(at.Path, 0o700)
}
