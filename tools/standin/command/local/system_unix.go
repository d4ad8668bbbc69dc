//go:build unix

package local

import (
	"os/exec"
	"syscall"
)

// interpreter returns what runs a command whose inputs name none (pulumi-command, provider/pkg/provider/util).
func interpreter() []string { return []string{"/bin/sh", "-c"} }

// lead makes a command lead a process group of its own, which the end of its context kills.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
