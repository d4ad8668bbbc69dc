package etcd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// EmptySnapshot returns a snapshot of an etcd without keys: the database, followed by its SHA-256 (etcd v3.6.6,
// server/etcdserver/api/v3rpc/maintenance.go, Snapshot).
func EmptySnapshot() (_ io.ReadCloser, err error) {
	file, err := os.CreateTemp("", "etcd-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := file.Close(); err != nil {
		return nil, err
	}
	db, err := bolt.Open(file.Name(), 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"alarm", "auth", "cluster", "key", "lease", "members", "meta"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file.Name())
	sum := sha256.Sum256(text)
	return io.NopCloser(bytes.NewReader(append(text, sum[:]...))), err
}
