package operator_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/operator"
)

// TestAFolderForAStateHasToBeThere: a mistake in a path makes no folder.
func TestAFolderForAStateHasToBeThere(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	folder := t.TempDir()
	require.NoError(t, s.CheckPlace(t.Context(), address.OfFolder(folder)))
	absent := filepath.Join(folder, "absent")
	err := s.CheckPlace(t.Context(), address.OfFolder(absent))
	require.EqualError(t, err, "there is no folder "+absent+" for the state of stack k3s-dev: create it, or correct its URL")
	require.ErrorAs(t, err, new(*operator.RefusedError))
}
