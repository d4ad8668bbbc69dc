package repositorytest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/repositorytest"
)

// TestAResultDependsOnTheSources reads the log that Go keeps of what a test looks at (cmd/go/internal/test, computeTestInputsID).
func TestAResultDependsOnTheSources(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "looked-at.txt")
	looks := exec.Command(self, "-test.run", "^TestDependOnSources$", "-test.testlogfile", log)
	output, err := looks.CombinedOutput()
	require.NoError(t, err, "%s", output)
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	looked := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		looked[strings.TrimSpace(line)] = true
	}

	root, err := repositorytest.Path(".")
	require.NoError(t, err)
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(name, ".") && path != root:
			return fs.SkipDir // rehearsals and the like
		case filepath.Ext(name) == ".go" || name == "go.mod" || name == "go.sum":
			files++
			require.True(t, looked["open "+filepath.Dir(path)] || looked["stat "+path], "a change of %s would go unseen", path)
		}
		return nil
	}))
	require.Greater(t, files, 1000, "the sources are read")
}

// TestDependOnSources is the test that the other test runs in order to read its log.
func TestDependOnSources(t *testing.T) {
	t.Parallel()
	require.NoError(t, repositorytest.DependOnSources())
}
