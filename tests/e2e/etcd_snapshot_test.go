package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
)

// etcdWasSnapshotted checks that a run that began at that time has kept one snapshot of etcd, of a cluster that ran Talos v1.12.4 and
// that version of Kubernetes on so many nodes, which opens with the passphrase of the stack and has the objects of Kubernetes in it.
func (r *rehearsal) etcdWasSnapshotted(began time.Time, kubernetes string, nodes int) {
	r.t.Helper()
	sealed, err := filepath.Glob(filepath.Join(r.dir(), "backups", "etcd", "*.snap.age"))
	require.NoError(r.t, err)
	var newer []string
	for _, file := range sealed {
		about, err := os.Stat(file)
		require.NoError(r.t, err)
		if about.ModTime().After(began) {
			newer = append(newer, file)
		}
	}
	require.Len(r.t, newer, 1, "one, whatever number of control planes is changed")

	var description struct {
		Cluster    string
		Talos      string
		Kubernetes string
		Nodes      int
		Revision   int64
		Keys       int
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.read(strings.TrimSuffix(newer[0], ".snap.age")+".json")), &description))
	require.Equal(r.t, "k3s-dev", description.Cluster)
	require.Equal(r.t, "v1.12.4", description.Talos)
	require.Equal(r.t, kubernetes, description.Kubernetes)
	require.Equal(r.t, nodes, description.Nodes)
	require.Positive(r.t, description.Revision)
	require.Greater(r.t, description.Keys, 100)

	identity, err := age.NewScryptIdentity(strings.TrimSpace(r.read(filepath.Join(r.dir(), "passphrase"))))
	require.NoError(r.t, err)
	opened, err := age.Decrypt(strings.NewReader(r.read(newer[0])), identity)
	require.NoError(r.t, err)
	text, err := io.ReadAll(opened)
	require.NoError(r.t, err)
	require.True(r.t, bytes.Contains(text, []byte("/registry/minions/k3s-dev-worker-1")), "a Node")

	name := strings.TrimSuffix(filepath.Base(newer[0]), ".snap.age")
	sound := fmt.Sprintf("%s is sound: revision %d, %d revisions of keys, ", name, description.Revision, description.Keys)
	require.Contains(r.t, r.mustRun(0, "etcd", "verify", "--lab"), sound)
}

// snapshotsByHand takes a snapshot of etcd, which is listed and opens; a snapshot that was exchanged does not.
func (r *rehearsal) snapshotsByHand() {
	r.t.Helper()
	require.Regexp(r.t, `-by-hand\.snap\.age: revision \d+, \d+ KiB\n`, r.mustRun(0, "etcd", "snapshot", "--lab"))
	require.Regexp(r.t, `-by-hand +\d+ +v1\.12\.\d+ +v1\.35\.\d +\d+ KiB +here\n`, r.mustRun(0, "etcd", "list", "--lab"))
	require.Regexp(r.t, `-by-hand is sound: revision \d+, `, r.mustRun(0, "etcd", "verify", "--lab"))
	require.Contains(r.t, r.mustRun(0, "etcd", "prune", "--lab"), "nothing to delete: the rule keeps all snapshots\n")

	sealed, err := filepath.Glob(filepath.Join(r.dir(), "backups", "etcd", "*.snap.age"))
	require.NoError(r.t, err)
	slices.Sort(sealed)
	require.Greater(r.t, len(sealed), 1, "the one before the upgrade, too")
	require.NoError(r.t, os.Rename(sealed[0], sealed[len(sealed)-1]))
	require.Contains(r.t, r.mustRun(3, "etcd", "verify", "--lab"), ": the file was exchanged, do not use it; see `")
}
