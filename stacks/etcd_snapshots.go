package stacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"filippo.io/age"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// errNoPassphrase means that nothing can seal a snapshot, which has all secrets of the cluster in it.
var errNoPassphrase = errors.New("it would be sealed with the passphrase of the stack, and there is none: set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE")

// keepSnapshots returns what keeps a snapshot of etcd beside the backups of the state.
func keepSnapshots(stack string, inv *inventory.Inventory, options Options) components.SnapshotKeeper {
	return func(ctx context.Context, snapshot components.EtcdSnapshot) (string, error) {
		saved, err := KeepSnapshot(ctx, stack, inv, options, SnapshotRequest{At: time.Now(), Reason: "before-up", Of: snapshot})
		return saved.Text(), err
	}
}

// SnapshotRequest is a snapshot of etcd that is to be taken and kept.
type SnapshotRequest struct {
	// At is the time, and Reason a word like before-up: they are its name.
	At     time.Time
	Reason string
	// Of is what etcd gives.
	Of components.EtcdSnapshot
}

// KeptSnapshot is a snapshot of etcd that is kept, and where.
type KeptSnapshot struct {
	etcdsnapshot.Snapshot
	// Bucket is the bucket that has it as well; empty if the inventory names none, or if it is not there.
	Bucket string
	// NotInBucket is why it is not in the bucket of the inventory, in a sentence that ends with what to do; nil if it is, or if there is
	// no bucket.
	NotInBucket error
}

// Text returns where the snapshot is, for a person.
func (k KeptSnapshot) Text() string {
	place := workspace.Nearby(k.Path)
	switch {
	case k.NotInBucket != nil:
		return fmt.Sprintf("%s; warning: it is on this machine alone, because %s; then take one more with `em-infra etcd snapshot`", place, k.NotInBucket)
	case k.Bucket != "":
		return place + " and " + k.Bucket
	default:
		return place
	}
}

// KeepSnapshot takes a snapshot and keeps it on this machine, and in the bucket of the inventory if it names one. What goes wrong in the
// bucket is no error: the snapshot is kept.
func KeepSnapshot(ctx context.Context, stack string, inv *inventory.Inventory, options Options, request SnapshotRequest) (KeptSnapshot, error) {
	store, err := SnapshotStore(stack, inv, options)
	if err != nil {
		return KeptSnapshot{}, err
	}
	saved, err := store.Save(request.At, request.Reason, SnapshotOf(inv, request.Of), request.Of.Take)
	kept := KeptSnapshot{Snapshot: saved}
	if err != nil || inv.Cluster.Backups.Bucket.IsZero() {
		return kept, err
	}
	kept.Bucket, kept.NotInBucket = copySnapshot(ctx, stack, inv, options, saved)
	return kept, nil
}

// copySnapshot stores a snapshot in the bucket, and returns the bucket's URL.
func copySnapshot(ctx context.Context, stack string, inv *inventory.Inventory, options Options, saved etcdsnapshot.Snapshot) (string, error) {
	remote, err := SnapshotBucket(ctx, stack, inv, options)
	if err != nil {
		return "", err
	}
	if err := errors.Join(remote.Put(ctx, saved), remote.Objects.Close()); err != nil {
		return "", err
	}
	return remote.Objects.String(), nil
}

// SnapshotBucket returns where the copies of the snapshots of etcd are in the bucket of the inventory; nil if it names none. The caller
// closes it.
func SnapshotBucket(ctx context.Context, stack string, inv *inventory.Inventory, options Options) (*etcdsnapshot.Remote, error) {
	backups := inv.Cluster.Backups
	if backups.Bucket.IsZero() {
		return nil, nil
	}
	at := backups.Bucket.String()
	if folder := options.BucketFolder; folder != "" {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		at = address.OfFolder(folder)
	}
	objects, err := bucket.Open(ctx, at, snapshotFolder(stack), bucket.Limits{})
	if err != nil {
		return nil, err
	}
	return &etcdsnapshot.Remote{Objects: objects, Cluster: inv.Cluster.Name, Keep: backups.Keep.Rule(), OfPods: inv.Cluster.Addons.EtcdBackup != nil}, nil
}

// SnapshotOf returns the description of a snapshot of the inventory's cluster.
func SnapshotOf(inv *inventory.Inventory, taken components.EtcdSnapshot) etcdsnapshot.Cluster {
	return etcdsnapshot.Cluster{Name: inv.Cluster.Name, Talos: taken.Talos, Kubernetes: taken.Kubernetes, Nodes: len(inv.Nodes)}
}

// SnapshotStore returns where the snapshots of etcd of a stack are kept. The recipients in the inventory open them, else the passphrase
// that seals the same secrets in the state. An error means that there is no passphrase.
func SnapshotStore(stack string, inv *inventory.Inventory, options Options) (etcdsnapshot.Store, error) {
	backups := inv.Cluster.Backups
	store := etcdsnapshot.Store{Dir: cmp.Or(options.Snapshots, workspace.Snapshots(options.Root, stack)), Keep: backups.Keep.Rule()}
	for _, recipient := range backups.Recipients {
		store.Recipients = append(store.Recipients, recipient.Key())
	}
	if len(store.Recipients) > 0 {
		return store, nil
	}
	recipient, err := passphraseOf(options)
	store.Recipients = append(store.Recipients, recipient)
	return store, err
}

func passphraseOf(options Options) (age.Recipient, error) {
	passphrase := engine.PassphraseIn(options.Env)
	if passphrase == nil || passphrase.Text() == "" {
		return nil, errNoPassphrase
	}
	return etcdsnapshot.WithPassphrase(passphrase.Text())
}
