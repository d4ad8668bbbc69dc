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

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

func TestClearStaleLocks(t *testing.T) {
	t.Parallel()

	dead, living := deadProcess(t), livingCLI(t)
	here, err := os.Hostname()
	require.NoError(t, err)
	const elsewhere = `{"pid":4712,"username":"alice","hostname":"laptop.invalid","timestamp":"2026-11-23T09:12:44.125+01:00"}`
	taken := time.Date(2026, 11, 23, 8, 12, 44, 125e6, time.UTC)
	for _, test := range []struct {
		name    string
		owner   string
		before  time.Time
		cleared int
		err     string
	}{
		{"dead owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, dead, here), time.Time{}, 1, ""},
		{
			"living owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, living, here), time.Time{}, 0,
			fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", living, here),
		},
		{"another program has the number", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, os.Getpid(), here), time.Time{}, 1, ""},
		{"lost with the power", "", time.Time{}, 1, ""},
		{"the owner has ended, and its parent has not read its exit code", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, zombieCLI(t), here), time.Time{}, 1, ""},
		{
			"owner elsewhere", `{"pid":1,"hostname":"elsewhere.invalid"}`, time.Time{}, 0,
			"another run works on this stack (process 1 on elsewhere.invalid): wait for it to end, then run again",
		},
		{
			"owner elsewhere, as the engine writes it", elsewhere, taken, 0,
			"another run works on this stack (process 4712 of alice on laptop.invalid, since 2026-11-23 08:12:44 UTC): wait for it to end, then run again",
		},
		{"owner elsewhere, of before the limit", elsewhere, taken.Add(time.Second), 1, ""},
		{"an age that is not known", `{"pid":1,"hostname":"elsewhere.invalid"}`, taken, 0, "another run works on this stack (process 1 on elsewhere.invalid): wait for it to end, then run again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			state := filepath.Join(t.TempDir(), "odd [name]*")
			file := filepath.Join(state, ".pulumi/locks/organization/em-infra/k3s-dev/one.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(test.owner), 0o600))

			cleared, err := recovery.ClearStaleLocks(t.Context(), placeIn(state), test.before)
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

	cleared, err := recovery.ClearStaleLocks(t.Context(), recovery.Place{Backend: "gs://bucket", Project: "em-infra", Stack: "k3s-dev"}, time.Time{})
	require.NoError(t, err)
	require.Zero(t, cleared)
}

// placeIn is where the state of a stack in a folder is.
func placeIn(folder string) recovery.Place {
	return recovery.Place{Backend: "file://" + folder, Project: "em-infra", Stack: "k3s-dev"}
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
	// It has its arguments only some time after it has started.
	require.Eventually(t, func() bool { return runs(cli.Process.Pid, cli.Path) }, time.Minute, time.Millisecond)
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
	executabletest.Write(t, path, program)
	cli := exec.Command(path, seconds)
	require.NoError(t, cli.Start())
	return cli
}
