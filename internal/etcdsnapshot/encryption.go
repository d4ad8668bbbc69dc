package etcdsnapshot

import (
	"bytes"
	"errors"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/crypto/nacl/secretbox"
)

// secretsPrefix is that of the keys of Secrets (kubernetes v1.35, apiserver, --etcd-prefix).
const secretsPrefix = "/registry/secrets/"

// Encryption is what is known of the encryption of the Secrets in a snapshot.
type Encryption struct {
	// Sealed is how many values of Secrets are sealed with a key of secretbox.
	Sealed int
	// Opened is how many of them the key opens.
	Opened int
}

// Foreign reports whether Secrets are sealed and the key opens none of them: the snapshot is of another cluster.
func (e Encryption) Foreign() bool { return e.Sealed > 0 && e.Opened == 0 }

const (
	keySize   = 32
	nonceSize = 24
)

// Encryption tries the key with which the cluster's API server seals Secrets.
func (o *Opened) Encryption(key []byte) (found Encryption, err error) {
	if len(key) != keySize {
		return Encryption{}, errors.New("the key of secretbox in the state is not 32 bytes long: restore the state from a backup")
	}
	db, err := open(o.file)
	if err != nil {
		return Encryption{}, err
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(keys).ForEach(func(_, value []byte) error { return found.count(value, [keySize]byte(key)) })
	})
	return found, errors.Join(err, db.Close())
}

func (e *Encryption) count(value []byte, key [keySize]byte) error {
	var entry mvccpb.KeyValue
	if err := entry.Unmarshal(value); err != nil {
		return err
	}
	if !bytes.HasPrefix(entry.Key, []byte(secretsPrefix)) {
		return nil
	}
	box, isSealed := bytes.CutPrefix(entry.Value, []byte(SealedBySecretbox))
	if !isSealed || len(box) < nonceSize {
		return nil
	}
	e.Sealed++
	if _, isOpened := secretbox.Open(nil, box[nonceSize:], (*[nonceSize]byte)(box[:nonceSize]), &key); isOpened {
		e.Opened++
	}
	return nil
}
