package stacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// errNoPassphrase means that nothing can seal a snapshot, which has all secrets of the cluster in it.
var errNoPassphrase = errors.New("it would be sealed with the passphrase of the stack, and there is none: set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE")

// keepSnapshots returns the function that keeps a snapshot of etcd beside the backups of the state.
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
	// Sent are the names of older snapshots that the bucket lacked and has now, newest first.
	Sent []string
	// NotSent is why it still lacks some of them, as NotInBucket.
	NotSent error
}

// Text returns where the snapshot is, for a person.
func (k KeptSnapshot) Text() string {
	place := workspace.Nearby(k.Path)
	switch {
	case k.NotInBucket != nil:
		return fmt.Sprintf("%s; warning: it is on this machine alone, because %s; the next `em-infra up` or `em-infra etcd snapshot` copies it", place, k.NotInBucket)
	case k.NotSent != nil:
		return fmt.Sprintf("%s and %s; warning: older ones are on this machine alone, because %s; the next `em-infra up` or `em-infra etcd snapshot` copies them", place, k.Bucket, k.NotSent)
	case len(k.Sent) > 0:
		return fmt.Sprintf("%s and %s, which has %s now, too", place, k.Bucket, strings.Join(k.Sent, ", "))
	case k.Bucket != "":
		return place + " and " + k.Bucket
	default:
		return place
	}
}

// takes adds what was copied into the bucket, and why not all of it was.
func (k *KeptSnapshot) takes(copies SnapshotCopies, err error) {
	at := slices.Index(copies.Sent, k.Name)
	if at < 0 {
		k.NotInBucket = err
		if err == nil {
			k.NotInBucket = fmt.Errorf("the bucket %s has another snapshot %s: take a new one", copies.Bucket, k.Name)
		}
		return
	}
	k.Bucket, k.Sent, k.NotSent = copies.Bucket, slices.Delete(slices.Clone(copies.Sent), at, at+1), err
}

// KeepSnapshot takes a snapshot and keeps it on this machine, and in the bucket of the inventory if it names one. A failure in the bucket is no
// error: the snapshot is kept.
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
	copier := options.CopySnapshots
	if copier == nil {
		copier = copyByTool
	}
	options.SparedSnapshots = append(slices.Clone(options.SparedSnapshots), saved.Name) // it has to be there, no matter how old it seems
	copies, err := copier(ctx, stack, inv, options)
	kept.takes(copies, err)
	return kept, nil
}

// SnapshotOf returns the description of a snapshot of the inventory's cluster.
func SnapshotOf(inv *inventory.Inventory, taken components.EtcdSnapshot) etcdsnapshot.Cluster {
	return etcdsnapshot.Cluster{Name: inv.Cluster.Name, Talos: taken.Talos, Kubernetes: taken.Kubernetes, Nodes: len(inv.Nodes)}
}

// SnapshotStore returns where the snapshots of etcd of a stack are kept. The recipients in the inventory open them, else the passphrase
// that seals the same secrets in the state. An error means that there is no passphrase, or that a key service seals the state.
func SnapshotStore(stack string, inv *inventory.Inventory, options Options) (etcdsnapshot.Store, error) {
	backups := inv.Cluster.Backups
	store := etcdsnapshot.Store{Dir: cmp.Or(options.Snapshots, workspace.Snapshots(options.Root, stack)), Keep: backups.Keep.Rule(), Spared: options.SparedSnapshots}
	for _, recipient := range backups.Recipients {
		store.Recipients = append(store.Recipients, recipient.Key())
	}
	if len(store.Recipients) > 0 {
		return store, nil
	}
	if err := CheckSealing(stack, inv, options.SecretsProvider); err != nil {
		return store, err
	}
	recipient, err := passphraseOf(options)
	store.Recipients = append(store.Recipients, recipient)
	return store, err
}

// CheckSealing refuses a stack without anything that could seal the snapshots of etcd and the recovery kits: its secrets are sealed by a
// key service, which seals no files, and the inventory names no recipient.
func CheckSealing(stack string, inv *inventory.Inventory, secretsProvider string) error {
	if engine.SealsByPassphrase(secretsProvider) || len(inv.Cluster.Backups.Recipients) > 0 {
		return nil
	}
	return fmt.Errorf("the secrets of stack %s are sealed by %s, so it has no passphrase for snapshots of etcd and recovery kits: add an age recipient to backups.recipients in cluster.yaml",
		stack, secretsProvider)
}

func passphraseOf(options Options) (age.Recipient, error) {
	passphrase := engine.PassphraseIn(options.Env)
	if passphrase == nil || passphrase.Text() == "" {
		return nil, errNoPassphrase
	}
	return etcdsnapshot.WithPassphrase(passphrase.Text())
}
