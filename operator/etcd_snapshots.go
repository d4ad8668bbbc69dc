package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/stacks"
)

// EtcdSnapshot is a sealed snapshot of etcd and its description.
type EtcdSnapshot = etcdsnapshot.Snapshot

// EtcdSnapshots returns the snapshots of etcd of the stack on this machine, newest first.
func (o *Operator) EtcdSnapshots() ([]EtcdSnapshot, error) { return o.snapshots().List() }

// snapshots returns the store for reading.
func (o *Operator) snapshots() etcdsnapshot.Store {
	return etcdsnapshot.Store{Dir: o.workspace.Snapshots()}
}

// KeptSnapshot is a snapshot of etcd that is kept, and where.
type KeptSnapshot = stacks.KeptSnapshot

// SnapshotEtcd takes a snapshot of etcd from a follower that works and keeps it, checked as a database and sealed, on this machine and in
// the bucket of the inventory. Up takes one by itself before it changes a control plane. SnapshotEtcd changes nothing in the cluster. If a copy
// to the bucket fails, the result has the reason.
func (o *Operator) SnapshotEtcd(ctx context.Context) (*KeptSnapshot, error) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	saved, err := s.etcd().snapshot(ctx, "by-hand")
	if err == nil && saved == nil {
		err = refused(errors.New("etcd runs on no control plane: start their machines, then try again"))
	}
	return saved, err
}

// KeepSnapshot implements [upCluster]: it takes a snapshot before control planes are deleted or replaced. The hooks of the program take one
// before updates only.
func (p platformRun) KeepSnapshot(ctx context.Context, judged judgement) error {
	leave := judged.LostControlPlanes()
	if len(leave) == 0 {
		return nil
	}
	for i, name := range leave {
		leave[i] = p.own.bornAs(name)
	}
	p.engine.stack.Workspace().SetEnvVar(removal.LeaveVariable, strings.Join(leave, ","))
	saved, err := p.etcd.snapshot(ctx, "before-up")
	if judged.Recovers != "" {
		return p.restorer.replaceOnly(ctx, judged.Recovers, saved, err)
	}
	if err != nil || saved == nil {
		return err
	}
	p.etcd.tell(*saved)
	return nil
}

// VerifyEtcdSnapshot opens a snapshot and reads the whole database; "" means the newest. It asks no node. The snapshot is opened with
// the passphrase of the stack, or with an age key where sops looks for one.
func (o *Operator) VerifyEtcdSnapshot(ctx context.Context, name string) (*EtcdSnapshot, error) {
	snapshot, err := o.findSnapshot(ctx, name)
	if err != nil {
		return nil, err
	}
	opened, err := o.open(snapshot)
	if err != nil {
		return nil, err
	}
	snapshot.Contents = opened.Contents
	return &snapshot, opened.Close()
}

// open opens a snapshot and reads the whole database. It refuses one that is damaged, or sealed for others: nothing is changed with it. The
// caller closes it.
func (o *Operator) open(snapshot EtcdSnapshot) (*etcdsnapshot.Opened, error) {
	identities, err := o.identities()
	if err != nil {
		return nil, refused(err)
	}
	opened, err := o.snapshots().Open(snapshot, identities)
	if errors.Is(err, etcdsnapshot.ErrSealed) {
		return nil, refused(fmt.Errorf("%w: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or %s to that with the key of one of backups.recipients, as they were when it was taken",
			err, secrets.KeyFileVariable))
	}
	if err != nil {
		return nil, refused(o.remedies().CompleteError(fmt.Errorf("%w; see `em-infra etcd list` for another one, or take one with `em-infra etcd snapshot`", err)))
	}
	return opened, nil
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
