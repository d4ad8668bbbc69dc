package etcdsnapshot

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// SealedAs is how the API server marks a value that it has sealed: the provider and the name that Talos gives its key (kubernetes v1.35,
// apiserver/pkg/server/options/encryptionconfig, and talos v1.12.4, k8stemplates/apiserver.go).
type SealedAs string

// The providers that Talos configures.
const (
	SealedByAESCBC    SealedAs = "k8s:enc:aescbc:v1:key1:"
	SealedBySecretbox SealedAs = "k8s:enc:secretbox:v1:key2:" //nolint:gosec // no secret
)

// Look returns the snapshot that take writes, checked as by [Store.Save], without keeping it. The caller closes it; in clear it has no name
// in the file system.
func (s Store) Look(take func(io.Writer) error) (*Opened, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	clear, err := s.temporary()
	if err != nil {
		return nil, err
	}
	opened := &Opened{file: clear}
	if err = take(clear); err == nil {
		opened.Contents, err = inspect(clear)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// SecretsSealed returns the present Secrets, NAMESPACE/NAME, whose values are sealed in a way, sorted. Former revisions do not count: etcd
// has them until the API server compacts it, every five minutes.
func (o *Opened) SecretsSealed(as SealedAs) ([]string, error) {
	db, err := open(o.file)
	if err != nil {
		return nil, err
	}
	sealed := map[string]bool{}
	err = db.View(func(tx *bolt.Tx) error { // in the order of the revisions, so the last of a key is its present one
		return tx.Bucket(keys).ForEach(func(revision, value []byte) error {
			var entry mvccpb.KeyValue
			if err := entry.Unmarshal(value); err != nil {
				return err
			}
			if name, isSecret := bytes.CutPrefix(entry.Key, []byte(secretsPrefix)); isSecret {
				sealed[string(name)] = !isTombstone(revision) && bytes.HasPrefix(entry.Value, []byte(as))
			}
			return nil
		})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	var names []string
	for name, is := range sealed {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// isTombstone reports whether a revision deletes its key: 17 bytes and a mark (etcd v3.6.6, server/storage/mvcc/revision.go).
func isTombstone(revision []byte) bool { return len(revision) == 18 && revision[17] == 't' }
