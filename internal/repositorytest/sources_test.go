package repositorytest_test

import (
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

	list := exec.Command("git", "ls-files", "*.go", "*/go.mod", "*/go.sum")
	if list.Dir, err = repositorytest.Path("."); err != nil {
		t.Fatal(err)
	}
	files, err := list.Output()
	if err != nil {
		t.Skip("this is no git checkout")
	}
	for file := range strings.FieldsSeq(string(files)) {
		folder := filepath.Join(list.Dir, filepath.Dir(file))
		require.True(t, looked["open "+folder] || looked["stat "+filepath.Join(list.Dir, file)], "a change of %s would go unseen", file)
	}
}

// TestDependOnSources is what the other test runs, and looks at the log of.
func TestDependOnSources(t *testing.T) {
	t.Parallel()
	require.NoError(t, repositorytest.DependOnSources())
}
