package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lock is what the engine writes into the lock file of a file backend (pulumi pkg/v3 v3.254.0, backend/diy/lock.go).
type lock struct {
	PID      int    `json:"pid"`
	Hostname string `json:"hostname"`
}

// BusyError says that another run works on the stack.
type BusyError struct {
	PID      int
	Hostname string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", e.PID, e.Hostname)
}

// ClearStaleLocks removes the locks of a stack whose owners are dead, and says how many. The error is a [BusyError] when
// an owner lives, or may live on another machine. A state that is not in a folder of this machine has none to look at.
func ClearStaleLocks(backend, project, stack string) (int, error) {
	folder, isFile := strings.CutPrefix(backend, "file://")
	if !isFile {
		return 0, nil
	}
	files, err := filepath.Glob(filepath.Join(folder, ".pulumi", "locks", "organization", project, stack, "*.json"))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		if err := clearStaleLock(file); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

func clearStaleLock(file string) error {
	text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
	if errors.Is(err, os.ErrNotExist) {
		return nil // its owner has just ended
	}
	if err != nil {
		return err
	}
	var owner lock
	if err := json.Unmarshal(text, &owner); err != nil {
		return fmt.Errorf("%s: %w: if no other run is going on, delete it", file, err)
	}
	here, err := os.Hostname()
	if err != nil {
		return err
	}
	if owner.Hostname != here || alive(owner.PID) {
		return &BusyError{PID: owner.PID, Hostname: owner.Hostname}
	}
	return os.Remove(file)
}

// alive says whether a process is a Pulumi CLI that runs; one of somebody else's does, too. A process ID is given to
// others in time, and one that was killed keeps it until its parent looks.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	process, err := processOf(pid)
	if err != nil {
		return true // there is no /proc to ask
	}
	return process.state != "Z" && process.name == cliName
}
