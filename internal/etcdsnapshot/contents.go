package etcdsnapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Contents are what a snapshot contains.
type Contents struct {
	// Bytes is the size of the database.
	Bytes int64 `json:"bytes"`
	// SHA256 is the checksum of the database, in hexadecimal, that etcd appended to it.
	SHA256 string `json:"sha256"`
	// Revision is the newest revision in the database; a restored etcd goes on from it.
	Revision int64 `json:"revision"`
	// Keys is the number of revisions of keys, deleted ones included.
	Keys int `json:"keys"`
}

// ErrCutOff means that a snapshot ends before its checksum, or in it.
var ErrCutOff = errors.New("the snapshot is cut off: it does not end with the checksum that etcd appends")

// errAltered means that the bytes are not those that etcd has sent.
var errAltered = errors.New("the snapshot does not have the checksum that etcd appended to it")

// inspect checks a snapshot and returns what it contains. etcd appends a SHA-256 to the database (etcd v3.6.6,
// server/etcdserver/api/v3rpc/maintenance.go, Snapshot); talosctl looks at the size alone. The database is read to its last
// key, as by `etcdutl snapshot status` (etcdutl/snapshot/v3_snapshot.go, Status). The file stays open.
func inspect(file *os.File) (Contents, error) {
	contents, err := checksum(file)
	if err != nil {
		return Contents{}, err
	}
	db, err := open(file)
	if err != nil {
		return Contents{}, fmt.Errorf("the snapshot is no database of etcd: %w", err)
	}
	defer db.Close() //nolint:errcheck // only read
	err = read(db, &contents)
	return contents, err
}

// checksum compares the database with the checksum behind it.
func checksum(file *os.File) (Contents, error) {
	about, err := file.Stat()
	if err != nil {
		return Contents{}, err
	}
	size := about.Size() - sha256.Size
	if size <= 0 || size%512 != 0 { // bbolt writes whole pages, of 512 bytes at least
		return Contents{}, ErrCutOff
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, size)); err != nil {
		return Contents{}, err
	}
	appended := make([]byte, sha256.Size)
	if _, err := file.ReadAt(appended, size); err != nil {
		return Contents{}, err
	}
	if !bytes.Equal(appended, sum.Sum(nil)) {
		return Contents{}, errAltered
	}
	return Contents{Bytes: size, SHA256: hex.EncodeToString(appended)}, nil
}

// lockPatience bounds the wait for the lock that bbolt takes on the file. No other process opens the file, so the lock is free.
const lockPatience = 10 * time.Second

// open opens the database without its name, which a temporary file no longer has.
func open(file *os.File) (*bolt.DB, error) {
	return bolt.Open(file.Name(), 0o600, &bolt.Options{
		ReadOnly: true,
		Timeout:  lockPatience,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return duplicate(file) },
	})
}

// read walks through all buckets. A damaged page makes bbolt panic. Its own Check is not used: it panics on a goroutine that it starts
// itself, where no caller can recover the panic (bbolt v1.4.3, tx_check.go).
func read(db *bolt.DB, contents *Contents) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the database in the snapshot is damaged: %v", problem)
		}
	}()
	return db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(keys) == nil {
			return errors.New("the snapshot is no database of etcd: it has no bucket of keys")
		}
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			return bucket.ForEach(func(key, _ []byte) error {
				if !bytes.Equal(name, keys) {
					return nil
				}
				return contents.count(key)
			})
		})
	})
}

// keys is the bucket of etcd's keys, by their revisions.
var keys = []byte("key")

// count notes a key of the bucket: its revision in 8 bytes, big-endian, and what follows (etcd v3.6.6, server/storage/mvcc/revision.go).
func (c *Contents) count(key []byte) error {
	if len(key) < 8 {
		return errors.New("the snapshot is no database of etcd: a key in it has no revision")
	}
	c.Revision = max(c.Revision, int64(binary.BigEndian.Uint64(key))) //nolint:gosec // etcd counts in int64
	c.Keys++
	return nil
}
