package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Lead makes a command lead a process group of its own, which a Ctrl-C in the console does not reach. It must not have started.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// Interrupt asks a process that [Lead] prepared to end. A new group has Ctrl-C disabled, so it is Ctrl-Break, which Go's runtime
// reports as the same signal (os/signal, "Windows"; GenerateConsoleCtrlEvent).
func Interrupt(process *os.Process) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(process.Pid)) //nolint:gosec // a process ID
}

// Kill ends a process at once. One that has ended already is no error.
func Kill(pid int) error {
	handle, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(pid)) //nolint:gosec // a process ID
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return nil // there is none of that ID
	}
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	err = windows.TerminateProcess(handle, 1)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) && !Exists(pid) {
		return nil // it has just ended
	}
	return err
}

// Exists reports whether a process of that ID runs, of any user.
func Exists(pid int) bool {
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid)) //nolint:gosec // a process ID
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	event, err := windows.WaitForSingleObject(handle, 0)
	return err != nil || event == uint32(windows.WAIT_TIMEOUT)
}

// killTree ends a process and all that descend from it. Windows cannot end a group, so they are found by their parents.
func killTree(root int) error {
	all, err := List()
	if err != nil {
		return errors.Join(err, Kill(root))
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		for _, p := range all {
			if p.Parent == tree[i] && p.PID != tree[i] {
				tree = append(tree, p.PID)
			}
		}
	}
	var errs []error
	for _, pid := range tree {
		errs = append(errs, Kill(pid))
	}
	return errors.Join(errs...)
}
