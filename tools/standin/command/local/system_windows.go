package local

import (
	"os/exec"
	"strconv"
	"syscall"
)

// interpreter returns what runs a command whose inputs name none (pulumi-command, provider/pkg/provider/util).
func interpreter() []string { return []string{"cmd", "/C"} }

// lead makes a command lead a process group of its own. The end of its context kills it with all that it has started.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() //nolint:gosec // a process ID
	}
}
