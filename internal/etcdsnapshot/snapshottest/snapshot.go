// Package snapshottest makes snapshots of etcd for tests.
package snapshottest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
)

// Database returns a database of etcd with revisions of keys.
func Database(t *testing.T, revisions ...int64) []byte {
	t.Helper()
	return BucketOf(t, "key", func(bucket *bolt.Bucket) error {
		for _, revision := range revisions {
			key := binary.BigEndian.AppendUint64(nil, uint64(revision)) //nolint:gosec // positive
			key = binary.BigEndian.AppendUint64(append(key, '_'), 0)
			if err := bucket.Put(key, []byte("value")); err != nil {
				return err
			}
		}
		return nil
	})
}

// BucketOf returns a database with one bucket.
func BucketOf(t *testing.T, name string, fill func(*bolt.Bucket) error) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(file, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(name))
		if err != nil {
			return err
		}
		return fill(bucket)
	}))
	require.NoError(t, db.Close())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// Signed appends the checksum, as etcd does.
func Signed(db []byte) []byte {
	sum := sha256.Sum256(db)
	return append(bytes.Clone(db), sum[:]...)
}
