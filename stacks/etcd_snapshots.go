package stacks

import (
	"cmp"
	"errors"
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

// keepSnapshots returns what keeps a snapshot of etcd beside the backups of the state.
func keepSnapshots(stack string, inv *inventory.Inventory, options Options) components.SnapshotKeeper {
	return func(snapshot components.EtcdSnapshot) (string, error) {
		store, err := SnapshotStore(stack, inv, options)
		if err != nil {
			return "", err
		}
		saved, err := store.Save(time.Now(), "before-up", SnapshotOf(inv, snapshot), snapshot.Take)
		return workspace.Nearby(saved.Path), err
	}
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
