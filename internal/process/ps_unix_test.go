//go:build unix

package process_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/process"
)

// TestProcessesWithoutProc: on macOS and BSD, ps lists the processes.
func TestProcessesWithoutProc(t *testing.T) {
	t.Parallel()
	pid := started(t).Process.Pid
	found, err := process.ThroughPS(strconv.Itoa(pid))
	require.NoError(t, err)
	require.Equal(t, []process.Process{{PID: pid, Parent: os.Getpid(), Program: "cat -u"}}, found)
	require.True(t, found[0].Runs("cat"))
}
