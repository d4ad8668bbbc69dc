package ptytest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

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
