package labstack_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// variableLabs is the folder for TestAFolderComesAndGoes.
const variableLabs = "LABSTACK_TEST_LABS"

// TestAFolderComesAndGoes is also the test that [TestTheFolderOfAllLabsIsNotLookedAt] runs in order to read its log.
func TestAFolderComesAndGoes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(cmp.Or(os.Getenv(variableLabs), filepath.Join(t.TempDir(), ".lab")), "one")
	require.NoError(t, labstack.MakeFolder(dir))
	require.NoError(t, labstack.MakeFolder(dir), "it exists")
	require.NoError(t, labstack.MakeFolder(filepath.Join(dir, "state", "backups")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state", "backups", "one.json"), nil, 0o600))
	require.NoError(t, labstack.RemoveFolder(dir))
	require.NoDirExists(t, dir)
	require.NoError(t, labstack.RemoveFolder(dir), "it is gone")
}

// TestTheFolderOfAllLabsIsNotLookedAt: otherwise Go would never give the result of an end-to-end test again.
func TestTheFolderOfAllLabsIsNotLookedAt(t *testing.T) {
	t.Parallel()
	labs, log := filepath.Join(t.TempDir(), ".lab"), filepath.Join(t.TempDir(), "looked-at.txt")
	run := exec.Command(os.Args[0], "-test.run=^TestAFolderComesAndGoes$", "-test.testlogfile="+log)
	run.Env = append(os.Environ(), variableLabs+"="+labs)
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	looked, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(looked), " "+filepath.Join(labs, "one")+"\n", "the log is read")
	require.NotContains(t, string(looked), " "+labs+"\n")
	entries, err := os.ReadDir(labs)
	require.NoError(t, err)
	require.Empty(t, entries)
}
