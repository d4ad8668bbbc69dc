//go:build unix

package local

import (
	"os/exec"
	"syscall"
)

// interpreter returns the interpreter of a command whose inputs name none (pulumi-command, provider/pkg/provider/util).
func interpreter() []string { return []string{"/bin/sh", "-c"} }

// lead makes a command the leader of its own process group. The group is killed when its context ends.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
