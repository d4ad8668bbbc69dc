package labstack_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// TestAProcessIsFoundByWhatItRuns: the kernel writes names as they are, with spaces and parentheses.
func TestAProcessIsFoundByWhatItRuns(t *testing.T) {
	t.Parallel()
	const name, stack = "a) (b", "stack-of-the-test"
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(shell, program))
	command := exec.Command(program, "-c", "echo ready; read line", stack) // it ends with its input
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, input.Close())
		_ = command.Wait() // read reports the end of its input as a failure
	})
	pid := command.Process.Pid
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err) // it has its name and its arguments only some time after it has started
	require.Equal(t, "ready\n", line)

	all, err := labstack.Processes()
	require.NoError(t, err)
	require.Contains(t, all, labstack.Process{PID: pid, Parent: os.Getpid(), Name: name})
	children, err := labstack.ChildrenNamed(os.Getpid(), name)
	require.NoError(t, err)
	require.Equal(t, []int{pid}, children)
	below, err := labstack.Descendants(os.Getpid())
	require.NoError(t, err)
	require.Contains(t, below, pid)
	arguments, err := labstack.Arguments(os.Getpid())
	require.NoError(t, err)
	require.Contains(t, arguments, program+" -c echo ready; read line "+stack)
	workers, err := labstack.Workers(stack)
	require.NoError(t, err)
	require.Equal(t, []labstack.Worker{{PID: pid, Arguments: []string{program, "-c", "echo ready; read line", stack}}}, workers)
}
