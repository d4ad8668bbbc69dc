package labstack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestCopyNeverTakesTheDescriptionAway: otherwise a lab that starts while another one's folder is replaced takes its ports. A copy of a folder that
// does not exist ends halfway.
func TestCopyNeverTakesTheDescriptionAway(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	write := func(folder, name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write(from, lab.DescriptionName, "born")
	write(from, "vms/100/disk", "as born")
	write(to, lab.DescriptionName, "changed")
	write(to, "vms/101/disk", "new")
	write(to, "pulumi-home/plugin", "stays")
	missing := filepath.Join(from, "no-such-folder")
	require.Error(t, labstack.Copy(missing, to), "it ends after it has deleted what was there")
	require.FileExists(t, filepath.Join(to, lab.DescriptionName))
	require.NoFileExists(t, filepath.Join(to, "vms/101/disk"))

	require.NoError(t, labstack.Copy(from, to))
	for name, text := range map[string]string{lab.DescriptionName: "born", "vms/100/disk": "as born", "pulumi-home/plugin": "stays"} {
		content, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, text, string(content), name)
	}
}
