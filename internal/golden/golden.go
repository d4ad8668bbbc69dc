// Package golden compares what a test makes with files of the repository. With the flag -update, a test writes them; read the diff.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

// Update reports whether the tests write their files.
func Update() bool { return *update }

// Equal compares a text with a file, whose path begins in the folder of the test's package, or writes the file.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755)) //nolint:gosec // a folder of the repository
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644)) //nolint:gosec // a file of the repository
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Fatalf("%s differs (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

// Section is [Equal] for a part of a file, from the end of the text begin to the text end.
func Section(t testing.TB, path, begin, end, got string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no %q", path, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no %q", path, end)
	Equal(t, path, before+begin+got+end+after)
}

// Folders returns the folders of testdata whose names begin with a prefix and a hyphen.
func Folders(t testing.TB, prefix string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join("testdata", prefix+"-*"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	return folders
}
