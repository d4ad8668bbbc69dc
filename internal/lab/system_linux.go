package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// wholeFile returns a lock on a whole file (fcntl(2), open file description locks). It belongs to the open file, ends with
// the process in every case, and can be queried without being taken.
func wholeFile() *unix.Flock_t { return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart} }

// isHeld reports whether a file is locked.
func isHeld(file *os.File) (bool, error) {
	held := wholeFile()
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, held); err != nil {
		return false, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return held.Type != unix.F_UNLCK, nil
}

// take locks a file.
func take(file *os.File) error {
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, wholeFile())
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errLocked
	}
	return err
}

// detach gives a command a session of its own, so that it continues after this process and its terminal.
func detach(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to end. One that has ended is no error.
func terminate(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
