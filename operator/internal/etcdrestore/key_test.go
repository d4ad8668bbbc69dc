package etcdrestore_test

import (
	"encoding/binary"
	"io"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// TestASnapshotOfAFormerKeyIsRefused: after a rotation of the key no API server can read the Secrets in it.
func TestASnapshotOfAFormerKeyIsRefused(t *testing.T) {
	t.Parallel()
	for as, want := range map[etcdsnapshot.SealedAs]string{
		etcdsnapshot.SealedBySecretbox: "",
		etcdsnapshot.SealedByAESCBC:    "the snapshot 2026-11-20T22-15-00-by-hand is from before `em-infra rotate encryption-key`: its Secrets (1) are sealed with the former key, which the cluster has no more; choose a later one that `em-infra etcd list` shows with --from, or first restore the state that was backed up before the rotation with `em-infra state restore`",
	} {
		database := snapshottest.BucketOf(t, "key", func(bucket *bolt.Bucket) error {
			value, err := (&mvccpb.KeyValue{Key: []byte("/registry/secrets/default/one"), Value: append([]byte(as), "sealed"...)}).Marshal()
			require.NoError(t, err)
			return bucket.Put(binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64(nil, 7), '_'), 0), value)
		})
		identity, err := age.GenerateX25519Identity()
		require.NoError(t, err)
		store := etcdsnapshot.Store{Dir: t.TempDir(), Recipients: []age.Recipient{identity.Recipient()}}
		saved, err := store.Save(time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC), "by-hand", etcdsnapshot.Cluster{}, func(to io.Writer) error {
			_, err := to.Write(snapshottest.Signed(database))
			return err
		})
		require.NoError(t, err)
		opened, err := store.Open(saved, []age.Identity{identity})
		require.NoError(t, err)
		err = etcdrestore.Choice{Snapshot: saved, Opened: opened}.SealedByPresentKey()
		require.NoError(t, opened.Close())
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
		require.ErrorAs(t, err, new(*refusal.Error))
	}
}
