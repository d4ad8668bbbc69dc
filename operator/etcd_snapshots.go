package operator

import (
	"context"
	"errors"
	"fmt"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// EtcdSnapshot is a sealed snapshot of etcd and its description.
type EtcdSnapshot = etcdsnapshot.Snapshot

// EtcdSnapshots returns the snapshots of etcd of the stack, newest first.
func (o *Operator) EtcdSnapshots() ([]EtcdSnapshot, error) { return o.snapshots().List() }

// snapshots returns the store for reading.
func (o *Operator) snapshots() etcdsnapshot.Store {
	return etcdsnapshot.Store{Dir: o.workspace.Snapshots()}
}

// SnapshotEtcd takes a snapshot of etcd from a follower that works and keeps it, checked as a database and sealed. Up takes one by
// itself before it changes a control plane. It changes nothing in the cluster.
func (o *Operator) SnapshotEtcd(ctx context.Context) (*EtcdSnapshot, error) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	sources, err := s.sources(ctx)
	if err != nil {
		return nil, err
	}
	if len(sources.Talosconfig) == 0 {
		return nil, refused(errors.New("the stack has no talosconfig: bring the cluster up first with `em-infra up`"))
	}
	snapshot, err := sources.Health().EtcdSnapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("no control plane gives a snapshot of etcd (%w): see `em-infra status`, bring one back, then try again", err)
	}
	if snapshot == nil {
		return nil, refused(errors.New("etcd runs on no control plane: start their machines, then try again"))
	}
	store, err := stacks.SnapshotStore(s.workspace.Stack, s.inventory, s.program)
	if err != nil {
		return nil, refused(err)
	}
	saved, err := store.Save(s.clock.Now(), "by-hand", stacks.SnapshotOf(s.inventory, *snapshot), snapshot.Take)
	if err != nil {
		return nil, err
	}
	return &saved, nil
}

// VerifyEtcdSnapshot opens a snapshot and reads the whole database; "" means the newest. It asks no node. The snapshot is opened with
// the passphrase of the stack, or with an age key where sops looks for one.
func (o *Operator) VerifyEtcdSnapshot(name string) (*EtcdSnapshot, error) {
	store := o.snapshots()
	snapshot, err := store.Find(name)
	switch {
	case errors.Is(err, etcdsnapshot.ErrNone):
		return nil, refused(fmt.Errorf("stack %s has no snapshot of etcd in %s: take one with `em-infra etcd snapshot %s`",
			o.workspace.Stack, workspace.Nearby(store.Dir), o.Place()))
	case err != nil:
		return nil, refused(err)
	}
	identities, err := o.identities()
	if err != nil {
		return nil, refused(err)
	}
	opened, err := store.Open(snapshot, identities)
	if errors.Is(err, etcdsnapshot.ErrSealed) {
		return nil, refused(fmt.Errorf("%w: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or %s to that with the key of one of backups.recipients, as they were when it was taken",
			err, secrets.KeyFileVariable))
	}
	if err != nil {
		return nil, fmt.Errorf("%w; see `em-infra etcd list` for another one, or take one with `em-infra etcd snapshot`", err)
	}
	snapshot.Contents = opened.Contents
	return &snapshot, opened.Close()
}

// identities returns what may open a snapshot: the passphrase of the stack, and the age keys of this machine.
func (o *Operator) identities() ([]age.Identity, error) {
	identities, err := secrets.KeysHere().Identities()
	if err != nil {
		return nil, err
	}
	passphrase := engine.PassphraseIn(o.workspace.Environment())
	if passphrase == nil || passphrase.Text() == "" {
		return identities, nil
	}
	identity, err := etcdsnapshot.OpenedByPassphrase(passphrase.Text())
	return append(identities, identity), err
}

// PruneEtcdSnapshots deletes the snapshots that the inventory's rule does not keep, and returns their names.
func (o *Operator) PruneEtcdSnapshots() ([]string, error) {
	inv, err := o.Inventory()
	if err != nil {
		return nil, refused(err)
	}
	store := o.snapshots()
	store.Keep = inv.Cluster.Backups.Keep.Rule()
	return store.Prune()
}
