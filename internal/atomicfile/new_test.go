package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

func TestWriteNewLeavesAFileThatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, atomicfile.WriteNew(path, []byte("one")))
	requireOnly(t, path, "one", 0o600)
	require.ErrorIs(t, atomicfile.WriteNew(path, []byte("two")), fs.ErrExist)
	requireOnly(t, path, "one", 0o600)
}

// A file with the name has its whole content or does not exist, and nothing else is left.
func TestWriteNewWithGivesNoNameToAPart(t *testing.T) {
	t.Parallel()
	folder, failed := t.TempDir(), errors.New("the disk is full")
	path := filepath.Join(folder, "file")
	err := atomicfile.WriteNewWith(path, func(to io.Writer) error {
		_, err := io.WriteString(to, "half")
		require.NoError(t, err)
		require.NoFileExists(t, path)
		return failed
	})
	require.ErrorIs(t, err, failed)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.ErrorIs(t, atomicfile.WriteNew(filepath.Join(folder, "none", "file"), nil), fs.ErrNotExist)
}

// Of several writers that want one name at the same time, only one gets it.
func TestWriteNewGivesANameOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	var all sync.WaitGroup
	problems := make([]error, 8)
	for i := range problems {
		all.Go(func() { problems[i] = atomicfile.WriteNew(path, []byte(strconv.Itoa(i))) })
	}
	all.Wait()
	first := -1
	for i, problem := range problems {
		if problem == nil {
			require.Equal(t, -1, first, "two have the name")
			first = i
			continue
		}
		require.ErrorIs(t, problem, fs.ErrExist)
	}
	requireOnly(t, path, strconv.Itoa(first), 0o600)
}
