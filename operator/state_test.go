package operator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALostStateIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	s.workspace.Backups = filepath.Join(t.TempDir(), "k3s-dev")
	require.NoError(t, s.CheckNotLost(t.Context()), "a stack that never was")
	_, err := s.SaveBackup(time.Now(), "after-up", []byte("state"))
	require.NoError(t, err)
	require.EqualError(t, s.CheckNotLost(t.Context()), "the state of stack k3s-dev is gone, but backups of it are here: put the newest back with `em-infra state restore --stack k3s-dev`; only if everything that it made is deleted, begin anew by moving "+s.workspace.Backups+" away")
}

func TestADamagedBackupIsNotPutBack(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	s.workspace.Backups, s.State().Stack = filepath.Join(t.TempDir(), "k3s-dev"), "k3s-dev"
	err := s.ChooseBackup(t.Context(), "")
	require.EqualError(t, err, "stack k3s-dev has no backup in "+s.workspace.Backups+": if its machines run, write the state anew with `em-infra adopt`")

	saved, err := s.SaveBackup(time.Now(), "after-up", []byte(`{"version": 3, "deployment": {}}`))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(saved.Path, 10))
	err = s.ChooseBackup(t.Context(), "")
	require.EqualError(t, err, "backup "+saved.Name+" cannot be read (export the state of k3s-dev: unexpected end of JSON input): choose another with --from; `em-infra state list --stack k3s-dev` shows them")
}
