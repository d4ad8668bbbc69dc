package layout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/repositorytest"
)

// TestFiletimes: what CI does to the times of files gives the same content the same time in every clone, and leaves alone a clone that is edited.
func TestFiletimes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a program")
	}
	require.NoError(t, repositorytest.DependOn(".ci"))
	source, err := filepath.Abs("../../.ci/filetimes.go")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "filetimes")
	runIn(t, "../..", "go", "build", "-trimpath", "-o", program, source)

	first, second := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	write := func(folder, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "b", "c d.txt"), []byte(text), 0o600))
	}
	write(first, "one")
	runIn(t, first, "git", "init", "--quiet")
	runIn(t, first, "git", "add", "--all")
	runIn(t, first, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "a")
	runIn(t, first, "git", "clone", "--quiet", first, second)
	times := func(folder string) (found []time.Time) {
		t.Helper()
		runIn(t, folder, program)
		for _, name := range []string{"a", "a/b", "a/b/c d.txt"} {
			info, err := os.Stat(filepath.Join(folder, name))
			require.NoError(t, err)
			found = append(found, info.ModTime())
		}
		return found
	}
	before := times(first)
	require.Equal(t, before, times(second))

	write(second, "two")
	edited := times(second)
	require.NotEqual(t, before[2], edited[2])
	require.Equal(t, edited, times(second), "it is edited, so its times stay")
	runIn(t, second, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--all", "--message", "b")
	require.NotEqual(t, edited[2], times(second)[2])
	require.NotEqual(t, before[2], times(second)[2], "another content has another time")
}

func runIn(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, output)
}
