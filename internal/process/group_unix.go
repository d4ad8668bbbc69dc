//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Lead makes a command lead a process group of its own, which a Ctrl-C in the terminal does not reach. It must not have started.
func Lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Interrupt asks a process that [Lead] prepared to end, as Ctrl-C does.
func Interrupt(process *os.Process) error { return process.Signal(os.Interrupt) }

// Kill ends a process at once. One that has ended already is no error.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Exists reports whether there is a process of that ID, of any user.
func Exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// killTree ends the group that a process leads.
func killTree(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
