package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/process"
)

// started returns a process that waits for its input. It ends with the test. It has answered once: Linux closes what execve(2) does
// not pass on, for which Start waits, before the arguments of the new program are in place.
func started(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("cat", "-u")
	process.Lead(command)
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		if command.ProcessState == nil {
			require.NoError(t, process.Kill(command.Process.Pid))
			require.EqualError(t, command.Wait(), "signal: killed")
		}
	})
	_, err = io.WriteString(input, "ready\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return command
}

func TestFind(t *testing.T) {
	t.Parallel()
	pid := started(t).Process.Pid
	found, err := process.Find(pid)
	require.NoError(t, err)
	require.Equal(t, process.Process{PID: pid, Parent: os.Getpid(), Name: "cat", Program: "cat"}, found)
	require.True(t, found.Runs("cat"))
	require.False(t, found.Runs("pulumi"))
	all, err := process.List()
	require.NoError(t, err)
	require.Contains(t, all, found)
}

func TestRuns(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"pulumi":                              true,
		"/opt/pulumi/bin/pulumi up --yes":     true,
		"/Users/A Person/bin/pulumi preview":  true,
		"/bin/sh -c pulumi-resource-command":  false,
		"/opt/pulumi/pulumi-language-go 1234": false,
		"vim pulumi.md":                       false,
		"":                                    false,
	} {
		require.Equal(t, want, process.Process{Program: line}.Runs("pulumi"), line)
	}
}

func TestInterruptEndsAProcess(t *testing.T) {
	t.Parallel()
	command := started(t)
	require.True(t, process.Exists(command.Process.Pid))
	require.NoError(t, process.Interrupt(command.Process))
	require.EqualError(t, command.Wait(), "signal: interrupt")
	require.False(t, process.Exists(command.Process.Pid))
	require.NoError(t, process.Kill(command.Process.Pid), "it has ended")
}

func TestAPipeIsReadUntilItsReaderEnds(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer writer.Close()
	require.True(t, process.IsRead(writer, time.Millisecond))
	require.NoError(t, reader.Close())
	require.False(t, process.IsRead(writer, time.Minute), "it does not wait for the interval")
}
