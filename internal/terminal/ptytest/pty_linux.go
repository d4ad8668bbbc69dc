package ptytest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// Run runs a command in a session of its own, on a terminal of that many columns that never answers; 0 is a terminal without a
// size. It returns the output, and the error of the command.
func Run(t testing.TB, command *exec.Cmd, columns uint16) (written string, err error) {
	t.Helper()
	return Converse(t, command, columns)
}

// Reply is typed when the terminal shows a text, once for each reply in their order.
type Reply struct {
	// Shown is the text that is waited for. Required.
	Shown string
	// Typed is the line that is typed then, without its end.
	Typed string
	// Hidden waits until the terminal does not show what is typed. Default: false.
	Hidden bool
}

// Converse is Run with a person who types replies. A reply whose text was not shown is an error of the test.
func Converse(t testing.TB, command *exec.Cmd, columns uint16, replies ...Reply) (written string, err error) {
	t.Helper()
	host, terminal := open(t, columns)
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, command.Start())
	require.NoError(t, terminal.Close())
	var screen strings.Builder
	answered, chunk := 0, make([]byte, 4<<10) // answered is the length of the part of the screen that was replied to
	for {
		n, err := host.Read(chunk)
		if errors.Is(err, unix.EIO) { // Linux returns it when no process has the terminal open
			break
		}
		require.NoError(t, err)
		screen.Write(chunk[:n])
		for len(replies) > 0 {
			at := strings.Index(screen.String()[answered:], replies[0].Shown)
			if at < 0 {
				break
			}
			answered += at + len(replies[0].Shown)
			replies[0].typeOn(t, host)
			replies = replies[1:]
		}
	}
	require.Empty(t, replies, "not asked:\n%s", &screen)
	return screen.String(), command.Wait()
}

// typeOn types the reply on a terminal.
func (r Reply) typeOn(t testing.TB, host *os.File) {
	t.Helper()
	if r.Hidden {
		polltest.Until(t, func() bool { return !echoes(t, host) }, "the terminal hides the answer to ", r.Shown)
	}
	_, err := host.WriteString(r.Typed + "\n")
	require.NoError(t, err)
}

// echoes reports whether a terminal shows what is typed.
func echoes(t testing.TB, host *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(host.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return settings.Lflag&unix.ECHO != 0
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
