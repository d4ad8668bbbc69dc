// Package process is the one home of what systems do differently with processes: groups, interrupts, the end of a tree, the list
// of what runs, and a pipe whose reader has ended.
package process

import (
	"os/exec"
	"time"
)

// Process is a process as the system reports it.
type Process struct {
	PID, Parent int
	// Name is the name of its program without a folder and without the .exe of Windows. Empty if the path has spaces, as ps does not
	// quote it: see [Process.Runs].
	Name string
	// Program is the path of the program; its arguments may follow.
	Program string
	// Dead reports whether it is a zombie: it has ended, and its parent has not waited for it. Windows has none.
	Dead bool
}

// killDelay is the longest wait for the output of a tree that was killed.
const killDelay = 5 * time.Second

// KillTreeOnCancel makes a command of [exec.CommandContext] lead a group of its own, so that the end of its context ends all its
// children too. The terminal's Ctrl-C then reaches it only through the context.
func KillTreeOnCancel(cmd *exec.Cmd) *exec.Cmd {
	Lead(cmd)
	cmd.Cancel = func() error { return killTree(cmd.Process.Pid) }
	cmd.WaitDelay = killDelay
	return cmd
}
