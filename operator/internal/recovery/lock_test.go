package recovery_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

func TestClearStaleLocks(t *testing.T) {
	t.Parallel()

	dead, living := deadProcess(t), livingCLI(t)
	here, err := os.Hostname()
	require.NoError(t, err)
	for _, test := range []struct {
		name    string
		owner   string
		cleared int
		err     string
	}{
		{"dead owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, dead, here), 1, ""},
		{
			"living owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, living, here), 0,
			fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", living, here),
		},
		{"another program has the number", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, os.Getpid(), here), 1, ""},
		{"lost with the power", "", 1, ""},
		{"nobody has looked at the dead owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, zombieCLI(t), here), 1, ""},
		{
			"owner elsewhere", `{"pid":1,"hostname":"elsewhere.invalid"}`, 0,
			"another run works on this stack (process 1 on elsewhere.invalid): wait for it to end, then run again",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			state := t.TempDir()
			file := filepath.Join(state, ".pulumi/locks/organization/em-infra/k3s-dev/one.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(test.owner), 0o600))

			cleared, err := recovery.ClearStaleLocks("file://"+state, "em-infra", "k3s-dev")
			require.Equal(t, test.cleared, cleared)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				require.FileExists(t, file)
				return
			}
			require.NoError(t, err)
			require.NoFileExists(t, file)
		})
	}
}

func TestClearStaleLocksLeavesOtherBackendsAlone(t *testing.T) {
	t.Parallel()

	cleared, err := recovery.ClearStaleLocks("s3://bucket", "em-infra", "k3s-dev")
	require.NoError(t, err)
	require.Zero(t, cleared)
}

// deadProcess returns the ID of a process that has just ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	return ended.ProcessState.Pid()
}

// livingCLI returns the ID of a process that runs a program named like the CLI until the test ends.
func livingCLI(t *testing.T) int {
	t.Helper()
	cli := startCLI(t, "600")
	t.Cleanup(func() {
		require.NoError(t, cli.Process.Kill())
		require.Error(t, cli.Wait(), "it was killed")
	})
	return cli.Process.Pid
}

// zombieCLI returns the ID of such a process that has ended, and for which its parent does not wait until the test ends.
func zombieCLI(t *testing.T) int {
	t.Helper()
	cli := startCLI(t, "0")
	t.Cleanup(func() { require.NoError(t, cli.Wait()) })
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cli.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond)
	return cli.Process.Pid
}

func startCLI(t *testing.T, seconds string) *exec.Cmd {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	program, err := os.ReadFile(sleep)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pulumi")
	require.NoError(t, os.WriteFile(path, program, 0o700)) //nolint:gosec // it is to be run
	cli := exec.Command(path, seconds)
	require.NoError(t, cli.Start())
	return cli
}
