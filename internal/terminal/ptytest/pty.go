// Package ptytest runs commands on a pseudo-terminal, for tests of what a person sees.
package ptytest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Run runs a command in a session of its own, on a terminal of that many columns that never answers; 0 is a terminal without a
// size. It returns the output, and the error of the command.
func Run(t testing.TB, command *exec.Cmd, columns uint16) (written string, err error) {
	t.Helper()
	host, terminal := open(t, columns)
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, command.Start())
	require.NoError(t, terminal.Close())
	var screen bytes.Buffer
	if _, err := screen.ReadFrom(host); !errors.Is(err, unix.EIO) { // Linux returns EIO when no process has the terminal open
		require.NoError(t, err)
	}
	return screen.String(), command.Wait()
}

// open returns both ends of a new pseudo-terminal.
func open(t testing.TB, columns uint16) (host, terminal *os.File) {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(host.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(host.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	if columns > 0 {
		require.NoError(t, unix.IoctlSetWinsize(int(host.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	}
	return host, terminal
}

// Environment returns an environment with variables in place of those that describe the terminal.
func Environment(environment []string, variables ...string) []string {
	var kept []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "TERM", "CI", "NO_COLOR":
		default:
			kept = append(kept, entry)
		}
	}
	return append(append(kept, "TERM=xterm-256color"), variables...)
}

// RequireFits checks that no line of a screen is longer than its columns, unless it is a single word. Of a line that was
// overwritten only the last text counts.
func RequireFits(t testing.TB, screen string, columns int) {
	t.Helper()
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if ansi.StringWidth(line) <= columns {
			continue
		}
		words := strings.Fields(strings.TrimSuffix(line, ` \`))
		require.LessOrEqual(t, len(words), 1, "%d columns: %s", ansi.StringWidth(line), line)
	}
}
