package operator_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// TestBackupsAreInTheBucketOfTheState: they are sent there, listed, and copied to a machine that has none.
func TestBackupsAreInTheBucketOfTheState(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	url := s3test.Start(t)
	s, recorded := sessionWith(t, nil, false)
	s.State().Command = engine.NewCommand("pulumi", semver.MustParse("3.254.0"))
	s.workspace.Backend, s.workspace.Backups = url, filepath.Join(t.TempDir(), "k3s-dev")
	s.WithBackups()
	require.NoError(t, s.CheckNotLost(t.Context()), "an empty bucket")
	require.Equal(t, "s3://states", s.StateBackups(t.Context()).URL)
	require.Nil(t, s.StateBackups(t.Context()).Newest)

	saved, err := s.SaveBackup(time.Now(), "after-up", []byte(`{"version": 3, "deployment": {}}`))
	require.NoError(t, err)
	require.Equal(t, 1, s.StateBackups(t.Context()).Missing)
	at, err := s.State().Send(t.Context())
	require.NoError(t, err)
	require.Equal(t, "s3://states", at)
	s.TellBackup(operator.KeptBackup{Backup: saved, Bucket: at})
	require.Equal(t, &recordedEvents{operator.BackedUp{Backup: saved, Bucket: "s3://states"}}, recorded)
	require.Equal(t, saved.Name, s.StateBackups(t.Context()).Newest.Name)
	require.Zero(t, s.StateBackups(t.Context()).Missing)

	s.workspace.Backups = filepath.Join(t.TempDir(), "another-machine")
	listed, err := s.BackupCopies(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.False(t, listed[0].Local)
	require.EqualError(t, s.CheckNotLost(t.Context()), "the state of stack k3s-dev is gone, but backups of it are in the bucket: put the newest back with `em-infra state restore --stack k3s-dev`; only if everything that it made is deleted, begin anew by deleting .em-infra/backups/em-infra/k3s-dev there")
	_, err = s.FindBackup(t.Context(), "2026-11-20T12-00-00-up")
	require.EqualError(t, err, "there is no backup \"2026-11-20T12-00-00-up\": choose one that `em-infra state list` shows")
	found, err := s.FindBackup(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(s.workspace.Backups, filepath.Base(saved.Path)), found.Path)
	require.Equal(t, operator.Note{Text: "the backup " + saved.Name + " is copied from s3://states"}, (*recorded)[1])

	s.workspace.Backend = strings.Replace(url, "s3://states?", "s3://other?", 1)
	const gone = "there is no bucket s3://other (NoSuchBucket): create it, or correct its URL"
	found, err = s.FindBackup(t.Context(), "")
	require.NoError(t, err, "the one that is here")
	require.Equal(t, saved.Name, found.Name)
	require.Equal(t, operator.Note{Text: "warning: " + saved.Name + " is the newest backup here, and a newer one in the bucket would not be seen, because " + gone}, (*recorded)[2])
	_, err = s.State().Send(t.Context())
	s.TellBackup(operator.KeptBackup{Backup: saved, NotInBucket: err})
	require.Equal(t, operator.Note{Text: "warning: backups of the state may be on this machine alone, because " + gone + "; the next `em-infra up --stack k3s-dev` or `em-infra state backup --stack k3s-dev` copies them"}, (*recorded)[4])
	require.Equal(t, gone, s.StateBackups(t.Context()).Problem)
	s.workspace.Backups = filepath.Join(t.TempDir(), "third-machine")
	require.ErrorContains(t, s.CheckNotLost(t.Context()), gone)
	_, err = s.FindBackup(t.Context(), "")
	require.ErrorContains(t, err, ", and the bucket cannot be listed, because "+gone)
	require.NotErrorIs(t, err, backup.ErrNone)
}
