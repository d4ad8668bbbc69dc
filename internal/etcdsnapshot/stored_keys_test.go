package etcdsnapshot_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
)

// TestSecretsSealedWithAKey: what counts is the present value of each Secret.
func TestSecretsSealedWithAKey(t *testing.T) {
	t.Parallel()
	const former, next = "k8s:enc:aescbc:v1:key1:xyz", "k8s:enc:secretbox:v1:key2:xyz"
	revisions := []struct{ key, value string }{
		{"/registry/secrets/default/rewritten", former},
		{"/registry/secrets/default/left", former},
		{"/registry/secrets/default/deleted", former},
		{"/registry/configmaps/default/other", former},
		{"/registry/secrets/default/rewritten", next},
		{"/registry/secrets/default/deleted", ""},
		{"/registry/secrets/apps/clear", "k8s\x00"},
		{"/registry/secrets/apps/again", former},
	}
	database := snapshottest.BucketOf(t, "key", func(bucket *bolt.Bucket) error {
		for i, one := range revisions {
			value, err := (&mvccpb.KeyValue{Key: []byte(one.key), Value: []byte(one.value)}).Marshal()
			require.NoError(t, err)
			revision := binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64(nil, uint64(i+1)), '_'), 0) //nolint:gosec // positive
			if one.value == "" {
				revision = append(revision, 't')
			}
			if err := bucket.Put(revision, value); err != nil {
				return err
			}
		}
		return nil
	})
	store, _ := newStore(t)
	opened, err := store.Look(writes(snapshottest.Signed(database)))
	require.NoError(t, err)
	names, err := opened.SecretsSealed(etcdsnapshot.SealedByAESCBC)
	require.NoError(t, err)
	require.Equal(t, []string{"apps/again", "default/left"}, names)
	names, err = opened.SecretsSealed(etcdsnapshot.SealedBySecretbox)
	require.NoError(t, err)
	require.Equal(t, []string{"default/rewritten"}, names)
	require.Equal(t, int64(8), opened.Revision)
	require.NoError(t, opened.Close())
	files, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Empty(t, files, "nothing is kept")
}

func TestALookAtABadSnapshotLeavesNothing(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	_, err := store.Look(writes([]byte("no database")))
	require.True(t, errors.Is(err, etcdsnapshot.ErrCutOff), "%v", err)
	files, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Empty(t, files)
}
