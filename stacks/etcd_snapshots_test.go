package stacks_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/stacks"
)

// TestTheToolCopiesASnapshotIntoTheBucket, if the embedding has no client of one. What the tool answers is in the text of the snapshot.
func TestTheToolCopiesASnapshotIntoTheBucket(t *testing.T) {
	t.Parallel()
	const again = "; warning: it is on this machine alone, because "
	for _, test := range []struct {
		name, tool, after string
		// called are the tool's arguments, with the folders of this test as DIR and INVENTORY.
		called  string
		standIn string
	}{
		{
			name: "copied", tool: `echo '{"bucket": "s3://backups", "sent": ["2026-11-20T22-15-00-before-up", "2026-11-19T22-15-00-before-up"]}'`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR",
			after:  " and s3://backups, which has 2026-11-19T22-15-00-before-up now, too",
		},
		{
			name: "a rehearsal", standIn: "file:///tmp/of a lab", tool: `echo '{"bucket": "s3://backups", "sent": ["2026-11-20T22-15-00-before-up"]}'`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR --bucket file:///tmp/of a lab",
			after:  " and s3://backups",
		},
		{
			name: "copied in part", tool: `echo '{"bucket": "s3://backups", "sent": ["2026-11-20T22-15-00-before-up"]}'; echo 'the key may not write: give it rights' >&2; exit 1`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR",
			after:  " and s3://backups; warning: older ones are on this machine alone, because the key may not write: give it rights; the next `em-infra up` or `em-infra etcd snapshot` copies them",
		},
		{
			name: "refused", tool: `echo 'the key may not write: give it rights' >&2; exit 1`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR",
			after:  again + "the key may not write: give it rights; the next `em-infra up` or `em-infra etcd snapshot` copies it",
		},
		{
			name: "another of that name", tool: `echo '{"bucket": "s3://backups", "sent": []}'`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR",
			after:  again + "the bucket s3://backups has another snapshot 2026-11-20T22-15-00-before-up: take a new one; the next `em-infra up` or `em-infra etcd snapshot` copies it",
		},
		{
			name: "another program", tool: `echo hello`,
			called: "etcd copy --stack home --inventory INVENTORY --output json --snapshots DIR",
			after:  again + "em-infra etcd copy did not answer in JSON: build em-infra anew; the next `em-infra up` or `em-infra etcd snapshot` copies it",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder, here := t.TempDir(), t.TempDir()
			tool := filepath.Join(folder, "em-infra")
			executabletest.Script(t, tool, "echo \"$@\" > "+folder+"/called\n"+test.tool+"\n")
			inv := &inventory.Inventory{Dir: folder}
			inv.Cluster.Name = "k3s-dev"
			require.NoError(t, inv.Cluster.Backups.Bucket.UnmarshalText([]byte("s3://backups")))
			text := snapshottest.Signed(snapshottest.Database(t, 2, 3))

			kept, err := stacks.KeepSnapshot(t.Context(), "home", inv, stacks.Options{
				Snapshots: here, BucketStandIn: test.standIn, Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse", "EM_INFRA": tool},
			}, stacks.SnapshotRequest{
				At: time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC), Reason: "before-up",
				Of: components.EtcdSnapshot{Talos: "v1.12.4", Take: func(to io.Writer) error {
					_, err := to.Write(text)
					return err
				}},
			})
			require.NoError(t, err)
			require.Equal(t, kept.Path+test.after, kept.Text())
			called, err := os.ReadFile(filepath.Join(folder, "called"))
			require.NoError(t, err)
			require.Equal(t, strings.NewReplacer("INVENTORY", folder, "DIR", here).Replace(test.called)+"\n", string(called))
		})
	}
}

// TestAKeyServiceSealsNoSnapshot: a passphrase in the environment is that of another stack then, and only recipients seal.
func TestAKeyServiceSealsNoSnapshot(t *testing.T) {
	t.Parallel()
	options := stacks.Options{Snapshots: t.TempDir(), SecretsProvider: "awskms://alias/states", Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}}
	inv := &inventory.Inventory{}
	_, err := stacks.SnapshotStore("home", inv, options)
	require.EqualError(t, err, "the secrets of stack home are sealed by awskms://alias/states, so it has no passphrase for snapshots of etcd and recovery kits: "+
		"add an age recipient to backups.recipients in cluster.yaml")
	for _, provider := range []string{"", "default", "passphrase"} {
		options.SecretsProvider = provider
		store, err := stacks.SnapshotStore("home", inv, options)
		require.NoError(t, err, provider)
		require.Len(t, store.Recipients, 1)
	}

	var recipient inventory.Recipient
	require.NoError(t, recipient.UnmarshalText([]byte(sopstest.NewKey(t).Recipient().String())))
	inv.Cluster.Backups.Recipients = append(inv.Cluster.Backups.Recipients, recipient)
	options.SecretsProvider = "awskms://alias/states"
	store, err := stacks.SnapshotStore("home", inv, options)
	require.NoError(t, err)
	require.Equal(t, recipient.Key(), store.Recipients[0])
}
