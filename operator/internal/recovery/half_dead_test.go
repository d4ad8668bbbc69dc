//go:build linux

package recovery_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// halfDead is the variable with the plugin that this program starts before its first thread ends.
const halfDead = "EM_INFRA_TEST_HALF_DEAD"

// init plays a killed engine of which some threads still run: the kernel reports the process as a zombie, and the plugins are still
// its children.
func init() {
	plugin := os.Getenv(halfDead)
	if plugin == "" {
		return
	}
	runtime.LockOSThread() // in an init, to the first thread
	command := exec.Command(plugin, "600")
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(command.Process.Pid)
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread only
	panic(errno)
}

func TestThePluginsOfAnEngineThatIsDyingAreOrphans(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plugin := pluginIn(t, home)
	program, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pulumi")
	require.NoError(t, os.Symlink(program, path))
	engine := exec.Command(path)
	engine.Env = append(os.Environ(), halfDead+"="+plugin)
	stdout, err := engine.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, engine.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, engine.Process.Kill())
		require.Error(t, engine.Wait(), "it was killed")
	})
	require.Eventually(t, func() bool { return stateOf(t, engine.Process.Pid) == "Z" && runs(pid, plugin) }, time.Minute, time.Millisecond)

	ended, err := recovery.EndOrphans(home)
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Eventually(t, func() bool { return !runs(pid, plugin) }, time.Minute, time.Millisecond)
}

// stateOf returns the state of a process as the kernel's letter.
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
}
