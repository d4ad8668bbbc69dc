package etcdrestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// A restore that was begun and then given up by a destroy must not stop the next cluster from being made.
func TestTheNoteOfARestoreEndsWithItsCluster(t *testing.T) {
	t.Parallel()
	notes := etcdrestore.Notes{Path: filepath.Join(t.TempDir(), "restore.json")}
	require.NoError(t, notes.Write(etcdrestore.Note{Snapshot: "2026-11-23T09-00-00-by-hand", On: "k3s-dev-control-1"}))
	note, err := notes.Of([]byte("of the cluster"))
	require.NoError(t, err)
	require.Equal(t, "k3s-dev-control-1", note.On)

	for range 2 {
		note, err = notes.Of(nil)
		require.NoError(t, err)
		require.Nil(t, note)
	}
	note, err = notes.Of([]byte("of the next cluster"))
	require.NoError(t, err)
	require.Nil(t, note)
}
