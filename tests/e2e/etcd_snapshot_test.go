package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
)

// etcdWasSnapshotted checks that a run that began at that time has kept one snapshot of etcd, for an inventory with that version of
// Kubernetes, which opens with the passphrase of the stack and has the objects of Kubernetes in it.
func (r *rehearsal) etcdWasSnapshotted(began time.Time, kubernetes string) {
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
		Kubernetes string
		Nodes      int
		Revision   int64
		Keys       int
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.read(strings.TrimSuffix(newer[0], ".snap.age")+".json")), &description))
	require.Equal(r.t, "k3s-dev", description.Cluster)
	require.Equal(r.t, kubernetes, description.Kubernetes)
	require.Equal(r.t, 5, description.Nodes)
	require.Positive(r.t, description.Revision)
	require.Greater(r.t, description.Keys, 100)

	identity, err := age.NewScryptIdentity(strings.TrimSpace(r.read(filepath.Join(r.dir(), "passphrase"))))
	require.NoError(r.t, err)
	opened, err := age.Decrypt(strings.NewReader(r.read(newer[0])), identity)
	require.NoError(r.t, err)
	text, err := io.ReadAll(opened)
	require.NoError(r.t, err)
	require.True(r.t, bytes.Contains(text, []byte("/registry/minions/k3s-dev-worker-1")), "a Node")
}
