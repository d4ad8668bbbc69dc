package etcdsnapshot_test

import (
	"crypto/rand"
	"encoding/binary"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/crypto/nacl/secretbox"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
)

// entry is a key of Kubernetes with its value.
type entry struct{ key, value string }

// holding returns a database of etcd with these entries.
func holding(t *testing.T, entries ...entry) []byte {
	t.Helper()
	return snapshottest.BucketOf(t, "key", func(bucket *bolt.Bucket) error {
		for i, e := range entries {
			stored := mvccpb.KeyValue{Key: []byte(e.key), Value: []byte(e.value)}
			value, err := stored.Marshal()
			require.NoError(t, err)
			revision := binary.BigEndian.AppendUint64(nil, uint64(i+1)) //nolint:gosec // positive
			if err := bucket.Put(binary.BigEndian.AppendUint64(append(revision, '_'), 0), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// sealed returns a value as the API server seals it.
func sealed(t *testing.T, key [32]byte, value string) string {
	t.Helper()
	var nonce [24]byte
	_, err := rand.Read(nonce[:])
	require.NoError(t, err)
	return "k8s:enc:secretbox:v1:key2:" + string(secretbox.Seal(nonce[:], []byte(value), &nonce, &key))
}

// TestWhoseSecretsASnapshotHas: another cluster's key opens none of them. Without a sealed Secret nothing is known.
func TestWhoseSecretsASnapshotHas(t *testing.T) {
	t.Parallel()
	ours, theirs := [32]byte{1}, [32]byte{2}
	for _, test := range []struct {
		name    string
		entries []entry
		want    etcdsnapshot.Encryption
		foreign bool
	}{
		{"ours", []entry{{"/registry/secrets/a/b", sealed(t, ours, "k8s")}, {"/registry/pods/a/b", "k8s"}}, etcdsnapshot.Encryption{Sealed: 1, Opened: 1}, false},
		{"another cluster's", []entry{{"/registry/secrets/a/b", sealed(t, theirs, "k8s")}}, etcdsnapshot.Encryption{Sealed: 1}, true},
		{"one of the time of another key", []entry{{"/registry/secrets/a/b", sealed(t, theirs, "k8s")}, {"/registry/secrets/a/c", sealed(t, ours, "k8s")}}, etcdsnapshot.Encryption{Sealed: 2, Opened: 1}, false},
		{"in clear", []entry{{"/registry/secrets/a/b", "k8s\x00"}}, etcdsnapshot.Encryption{}, false},
		{"cut off", []entry{{"/registry/secrets/a/b", "k8s:enc:secretbox:v1:key2:short"}}, etcdsnapshot.Encryption{}, false},
		{"none", nil, etcdsnapshot.Encryption{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, identity := newStore(t)
			saved, err := store.Save(evening, "by-hand", k3s, writes(snapshottest.Signed(holding(t, test.entries...))))
			require.NoError(t, err)
			opened, err := store.Open(saved, []age.Identity{identity})
			require.NoError(t, err)
			defer func() { require.NoError(t, opened.Close()) }()
			found, err := opened.Encryption(ours[:])
			require.NoError(t, err)
			require.Equal(t, test.want, found)
			require.Equal(t, test.foreign, found.Foreign())
			_, err = opened.Encryption(ours[:16])
			require.EqualError(t, err, "the key of secretbox in the state is not 32 bytes long: restore the state from a backup")
		})
	}
}
