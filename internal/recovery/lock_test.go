package recovery_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/recovery"
)

func TestClearStaleLocks(t *testing.T) {
	t.Parallel()

	dead := deadProcess(t)
	here, err := os.Hostname()
	require.NoError(t, err)
	for _, test := range []struct {
		name    string
		owner   string
		cleared int
		err     string
	}{
		{"dead owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, dead, here), 1, ""},
		{"living owner", fmt.Sprintf(`{"pid":%d,"hostname":%q}`, os.Getpid(), here), 0,
			fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", os.Getpid(), here)},
		{"owner elsewhere", `{"pid":1,"hostname":"elsewhere.invalid"}`, 0,
			"another run works on this stack (process 1 on elsewhere.invalid): wait for it to end, then run again"},
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

// deadProcess is the number of a process that has just ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	return ended.ProcessState.Pid()
}
