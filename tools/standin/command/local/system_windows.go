package local

import (
	"os/exec"
	"strconv"
	"syscall"
)

// interpreter returns the interpreter of a command whose inputs name none (pulumi-command, provider/pkg/provider/util).
func interpreter() []string { return []string{"cmd", "/C"} }

// lead makes a command the leader of its own process group. When its context ends, it is killed with all processes that it started.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() //nolint:gosec // a process ID
	}
}
