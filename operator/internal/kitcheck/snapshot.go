package kitcheck

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// snapshot opens the snapshot of etcd and reads the whole database.
func (c *checks) snapshot() (err error) {
	if c.Snapshot == "" {
		c.add("etcd", preflight.Warn, "there is no snapshot of etcd in it: the objects of Kubernetes could not be restored", "when etcd answers, "+newKit)
		return nil
	}
	folder, err := os.MkdirTemp("", "em-infra-kit-*") // the snapshot in it stays sealed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	err = c.Unpack(func(name string) string {
		if path.Dir(name) != recoverykit.EtcdFolder {
			return ""
		}
		return filepath.Join(folder, path.Base(name))
	})
	if err != nil {
		return err
	}
	verified, err := c.verify(etcdsnapshot.Store{Dir: folder})
	if err != nil {
		c.add("etcd", preflight.Fail, firstLine(err), newKit)
		return nil
	}
	c.add("etcd", preflight.OK, fmt.Sprintf("the snapshot of etcd of %s UTC is sound: revision %d", verified.Taken.Format("2006-01-02 15:04"), verified.Revision), "")
	return nil
}

func (c *checks) verify(store etcdsnapshot.Store) (etcdsnapshot.Snapshot, error) {
	snapshot, err := store.Find(c.Snapshot)
	if err != nil {
		return snapshot, err
	}
	opened, err := store.Open(snapshot, c.Identities)
	if err != nil {
		return snapshot, err
	}
	snapshot.Contents = opened.Contents
	return snapshot, opened.Close()
}
