package etcd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// EmptySnapshot returns a snapshot of an etcd without keys: the database, followed by its SHA-256 (etcd v3.6.6,
// server/etcdserver/api/v3rpc/maintenance.go, Snapshot).
func EmptySnapshot() (io.ReadCloser, error) {
	text, err := emptyDatabase()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return io.NopCloser(bytes.NewReader(append(text, sum[:]...))), nil
}

// EmptyDatabase returns the data file of an etcd without keys.
func EmptyDatabase() (io.ReadCloser, error) {
	text, err := emptyDatabase()
	return io.NopCloser(bytes.NewReader(text)), err
}

func emptyDatabase() (_ []byte, err error) {
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
	return os.ReadFile(file.Name())
}

// pageSize is the least size of a page of bbolt.
const pageSize = 512

// CheckSnapshot checks a snapshot before it is restored, with the texts of etcd (v3.6.6, etcdutl/snapshot/v3_snapshot.go,
// copyAndVerifyDB).
func CheckSnapshot(path string, skipHashCheck bool) error {
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return err
	case skipHashCheck:
		return nil
	case len(text)%pageSize != sha256.Size:
		return errors.New("snapshot missing hash but --skip-hash-check=false")
	}
	database, appended := text[:len(text)-sha256.Size], text[len(text)-sha256.Size:]
	if sum := sha256.Sum256(database); !bytes.Equal(sum[:], appended) {
		return fmt.Errorf("expected sha256 %v, got %v", appended, sum[:])
	}
	return nil
}
