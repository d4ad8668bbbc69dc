package recovery_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// An engine is abandoned if no process listens on the address of its program.
func TestAnAbandonedEngineIsWaitedFor(t *testing.T) {
	t.Parallel()
	tool := loopbacktest.Listen(t)
	cli, end := cliOf(t, tool.Addr().String())
	state := t.TempDir()
	lock := filepath.Join(state, ".pulumi/locks/organization/em-infra/k3s-dev/one.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	here, err := os.Hostname()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(lock, fmt.Appendf(nil, `{"pid":%d,"hostname":%q}`, cli, here), 0o600))

	owner, err := recovery.Owner(t.Context(), placeIn(state))
	require.NoError(t, err)
	require.Equal(t, cli, owner.PID)
	require.False(t, owner.Abandoned(t.Context()), "its em-infra is there")
	require.NoError(t, tool.Close())
	// Another test may start a process at this moment: until its exec, the fork has the listener open as well.
	polltest.Until(t, func() bool { return owner.Abandoned(t.Context()) })

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, owner.AwaitEnd(cancelled), context.Canceled)
	end()
	require.NoError(t, owner.AwaitEnd(t.Context()))
	owner, err = recovery.Owner(t.Context(), placeIn(state))
	require.NoError(t, err)
	require.Nil(t, owner)
}

func TestWhoIsNotAbandoned(t *testing.T) {
	t.Parallel()
	here, err := os.Hostname()
	require.NoError(t, err)
	gone, _ := cliOf(t, "127.0.0.1:1")
	for _, test := range []struct {
		name  string
		owner recovery.BusyError
	}{
		{"one on another machine", recovery.BusyError{Lock: recovery.Lock{PID: gone, Hostname: "elsewhere.invalid"}}},
		{"a plain pulumi, which asks no em-infra", recovery.BusyError{Lock: recovery.Lock{PID: livingCLI(t), Hostname: here}}},
		{"one that has ended", recovery.BusyError{Lock: recovery.Lock{PID: deadProcess(t), Hostname: here}}},
	} {
		require.False(t, test.owner.Abandoned(t.Context()), test.name)
	}
}

// cliOf starts a process named pulumi with the address of a program, and returns its process ID. The process ends with end, and with
// the test.
func cliOf(t *testing.T, address string) (pid int, end func()) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pulumi")
	require.NoError(t, os.Symlink(shell, path))
	cli := exec.Command(path, "-c", "read line", "up", "--client="+address)
	stdin, err := cli.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cli.Start())
	end = func() { _ = stdin.Close() } // closing twice is harmless
	t.Cleanup(func() {
		end()
		_ = cli.Wait() // `read` fails at the end of its input
	})
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cli.Process.Pid))
		return err == nil && string(text) == "pulumi\n"
	}, time.Minute, time.Millisecond)
	return cli.Process.Pid, end
}
