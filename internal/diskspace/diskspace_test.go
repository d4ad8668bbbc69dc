package diskspace_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/diskspace"
)

func TestAFolderThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "a", "b")
	free, err := diskspace.Free(missing)
	require.NoError(t, err)
	require.Positive(t, free)
	wanted, err := diskspace.Disk(dir)
	require.NoError(t, err)
	require.NotEmpty(t, wanted)
	have, err := diskspace.Disk(missing)
	require.NoError(t, err)
	require.Equal(t, wanted, have)
}

func TestADiskThatIsFull(t *testing.T) {
	t.Parallel()
	require.True(t, diskspace.IsUsedUp(fmt.Errorf("write: %w", syscall.ENOSPC)))
	require.False(t, diskspace.IsUsedUp(errors.New("write: another error")))
	require.Equal(t, "no space left on device", diskspace.UsedUp)
}
