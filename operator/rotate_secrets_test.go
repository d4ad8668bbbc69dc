package operator_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// TestARotationBacksUpItsNewSecrets as soon as they are in the state, and how far it got.
func TestARotationBacksUpItsNewSecrets(t *testing.T) {
	t.Parallel()
	s, _, _, file := stateInFile(t)
	require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C")), 0o600))
	require.NoError(t, s.Rotate(t.Context(), "talos-ca", rotation.Replacements{{Old: "0123456789abcdef", New: "fedcba9876543210"}}))
	backups, err := s.Backups()
	require.NoError(t, err)
	require.Len(t, backups, 2)
	for i, done := range []int{1, 0} {
		require.Equal(t, "rotating", backups[i].Reason)
		text, err := backups[i].Text()
		require.NoError(t, err)
		exported, err := s.State().Read(text)
		require.NoError(t, err)
		note, err := rotation.NoteIn(exported.Deployment)
		require.NoError(t, err)
		require.Equal(t, done, note.Done)
	}
}

// TestARotationThatWasKilledBacksUpItsNewSecrets: they were written into the state, and into no backup.
func TestARotationThatWasKilledBacksUpItsNewSecrets(t *testing.T) {
	t.Parallel()
	s, _, _, file := stateInFile(t)
	require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C")), 0o600))
	resume, err := s.KeepNew(t.Context(), "talos-ca", rotation.Replacements{{Old: "0123456789abcdef", New: "fedcba9876543210"}})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, resume())
		backups, err := s.Backups()
		require.NoError(t, err)
		require.Len(t, backups, 1)
		require.Equal(t, "rotating", backups[0].Reason)
	}
}
