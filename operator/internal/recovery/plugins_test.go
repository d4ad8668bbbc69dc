package recovery_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// pluginIn creates a provider plugin in a PULUMI_HOME; it sleeps for the number of seconds in its argument.
func pluginIn(t *testing.T, home string) string {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	path := filepath.Join(home, "plugins", "resource-proxmoxve-v6.18.1", "pulumi-resource-proxmoxve")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.Symlink(sleep, path))
	return path
}

// engineWith starts a process named pulumi with a plugin as its child, and returns both.
func engineWith(t *testing.T, plugin string) (engine *exec.Cmd, pid int) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pulumi")
	require.NoError(t, os.Symlink(shell, path))
	engine = exec.Command(path, "-c", `"$0" 600 & echo $!; wait`, plugin)
	stdout, err := engine.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, engine.Start())
	line := make([]byte, 32)
	n, err := stdout.Read(line)
	require.NoError(t, err)
	pid, err = strconv.Atoi(strings.TrimSpace(string(line[:n])))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return runs(pid, plugin) }, time.Minute, time.Millisecond)
	return engine, pid
}

// runs reports whether a process runs a program; a zombie does not.
func runs(pid int, program string) bool {
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(arguments), program+"\x00")
}

func TestEndOrphans(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plugin := pluginIn(t, home)
	engine, pid := engineWith(t, plugin)
	elsewhere, other := engineWith(t, pluginIn(t, t.TempDir()))
	t.Cleanup(func() {
		require.NoError(t, elsewhere.Process.Kill())
		require.Error(t, elsewhere.Wait(), "it was killed")
		orphan, err := os.FindProcess(other)
		require.NoError(t, err)
		require.NoError(t, orphan.Kill())
	})

	ended, err := recovery.EndOrphans(home)
	require.NoError(t, err)
	require.Zero(t, ended, "its engine works")
	require.True(t, runs(pid, plugin))

	require.NoError(t, engine.Process.Kill())
	require.Error(t, engine.Wait(), "it was killed")
	ended, err = recovery.EndOrphans(home)
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Eventually(t, func() bool { return !runs(pid, plugin) }, time.Minute, time.Millisecond)

	ended, err = recovery.EndOrphans(home)
	require.NoError(t, err)
	require.Zero(t, ended, "they are ended once")
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", other))
	require.NoError(t, err)
	require.NotEmpty(t, stat, "the plugin of another home goes on")
}

func TestEndOrphansWithoutPlugins(t *testing.T) {
	t.Parallel()
	ended, err := recovery.EndOrphans(t.TempDir())
	require.NoError(t, err)
	require.Zero(t, ended)
}
