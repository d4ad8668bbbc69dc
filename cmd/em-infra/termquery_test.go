package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// answerAwaited is how long termenv waits for a terminal's answer (OSCTimeout).
const answerAwaited = 5 * time.Second

// insideTerminal makes the test's own program the tool: its arguments are those of a command line.
const insideTerminal = "EM_INFRA_TEST_TERMINAL"

// TestATerminalThatDoesNotAnswer holds that no command asks the terminal anything: what is written to one that is mute holds
// no escape sequence, and nothing waits for an answer. Only a process that starts can show that, so the test starts itself.
func TestATerminalThatDoesNotAnswer(t *testing.T) {
	if arguments := os.Getenv(insideTerminal); arguments != "" {
		ci, found := os.LookupEnv("CI")
		fmt.Printf("CI=%q %t\n", ci, found)
		os.Exit(run(t.Context(), streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, strings.Fields(arguments)))
	}
	t.Parallel()
	folder, err := filepath.Abs("../../stacks/k3s-dev")
	require.NoError(t, err)
	for _, test := range []struct {
		name      string
		variables []string
		want      string
	}{
		{"by hand", nil, `CI="" false`},
		{"with an empty CI", []string{"CI="}, `CI="" true`},
		{"in CI", []string{"CI=yes"}, `CI="yes" true`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			written := onMuteTerminal(t, append(test.variables, insideTerminal+"=validate --inventory "+folder)...)
			require.Contains(t, written, "is sound")
			require.NotContains(t, written, "\x1b")
			require.Contains(t, written, test.want, "the environment is what it was")
			require.Less(t, time.Since(began), answerAwaited)
		})
	}
}

// onMuteTerminal runs this test in a session of its own whose terminal never answers, and returns what it wrote there.
func onMuteTerminal(t *testing.T, variables ...string) string {
	t.Helper()
	host, terminal := openTerminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	process := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestATerminalThatDoesNotAnswer$")
	environment := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "TERM=") || strings.HasPrefix(entry, "CI=")
	})
	process.Env = append(append(environment, "TERM=xterm-256color"), variables...)
	process.Stdin, process.Stdout, process.Stderr = terminal, terminal, terminal
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, process.Start())
	require.NoError(t, terminal.Close())
	var written bytes.Buffer
	if _, err := written.ReadFrom(host); !errors.Is(err, unix.EIO) { // what Linux answers when no process has the terminal open
		require.NoError(t, err)
	}
	require.NoError(t, process.Wait(), written.String())
	return written.String()
}

// openTerminal returns both ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (host, terminal *os.File) {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(host.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(host.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return host, terminal
}
