package kubernetes

import (
	"os/exec"
	"syscall"
)

// bind makes a command end with the thread that starts it. A separate process group shields it from the terminal's signals.
func bind(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
