package stacks

import (
	"cmp"
	"errors"
	"io"
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

// keepSnapshots returns what keeps a snapshot of etcd beside the backups of the state, sealed with the passphrase that seals the secrets
// in it.
func keepSnapshots(stack string, inv *inventory.Inventory, options Options) components.SnapshotKeeper {
	of := etcdsnapshot.Cluster{
		Name: inv.Cluster.Name, Talos: inv.Cluster.Talos.Version.String(), Kubernetes: inv.Cluster.Kubernetes.Version.String(), Nodes: len(inv.Nodes),
	}
	folder := cmp.Or(options.Snapshots, workspace.Snapshots(options.Root, stack))
	return func(take func(io.Writer) error) (string, error) {
		recipient, err := passphraseOf(options)
		if err != nil {
			return "", err
		}
		store := etcdsnapshot.Store{Dir: folder, Recipients: []age.Recipient{recipient}}
		saved, err := store.Save(time.Now(), "before-up", of, take)
		return workspace.Nearby(saved.Path), err
	}
}

func passphraseOf(options Options) (age.Recipient, error) {
	passphrase := engine.PassphraseIn(options.Env)
	if passphrase == nil || passphrase.Text() == "" {
		return nil, errNoPassphrase
	}
	return etcdsnapshot.WithPassphrase(passphrase.Text())
}
