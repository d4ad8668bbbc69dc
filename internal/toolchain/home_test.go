//go:build linux

package toolchain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPopulateOnAnotherFileSystem: a home on another file system gets symbolic links.
func TestPopulateOnAnotherFileSystem(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	home, err := os.MkdirTemp("/dev/shm", "em-infra-test-") //nolint:usetesting // t.TempDir is on the same disk
	if err != nil || device(t, home) == device(t, opts.Source) {
		t.Skip("there is no second file system to test with")
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })

	installed := install(t, opts)
	for range 2 {
		require.NoError(t, installed.Populate(home))
		target, err := os.Readlink(filepath.Join(home, "plugins/resource-command-v1.2.1/pulumi-resource-command"))
		require.NoError(t, err)
		require.Equal(t, installed.Tools[0].Path, target)
	}
}

func device(t *testing.T, path string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	require.NoError(t, unix.Stat(path, &stat))
	return uint64(stat.Dev)
}
