package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/process"
)

// Lock is the content of the engine's lock file in a file backend (pulumi pkg/v3 v3.254.0, backend/diy/lock.go).
type Lock struct {
	// PID is the process that holds it.
	PID int `json:"pid"`
	// Hostname is the machine of that process.
	Hostname string `json:"hostname"`
	// Stale says that its owner is dead. One on another machine may live.
	Stale bool `json:"stale"`

	file string
}

// fileScheme is the scheme of a state in a folder of this machine.
const fileScheme = "file://"

// BusyError is returned if another run works on the stack.
type BusyError struct {
	PID      int
	Hostname string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run works on this stack (process %d on %s): wait for it to end, then run again", e.PID, e.Hostname)
}

// ClearStaleLocks removes a stack's locks whose owners are dead, and returns their number. It returns a [BusyError] if an owner is
// alive, or may be alive on another machine.
func ClearStaleLocks(backend, project, stack string) (int, error) {
	locks, err := Locks(backend, project, stack)
	if err != nil {
		return 0, err
	}
	for _, lock := range locks {
		if !lock.Stale {
			return 0, &BusyError{PID: lock.PID, Hostname: lock.Hostname}
		}
		if err := os.Remove(lock.file); err != nil {
			return 0, err
		}
	}
	return len(locks), nil
}

// Owner returns the run that works on a stack; nil if none is known.
func Owner(backend, project, stack string) (*BusyError, error) {
	locks, err := Locks(backend, project, stack)
	for _, lock := range locks {
		if !lock.Stale {
			return &BusyError{PID: lock.PID, Hostname: lock.Hostname}, nil
		}
	}
	return nil, err
}

// Locks returns the locks of a stack; nil if its state is not in a folder of this machine.
func Locks(backend, project, stack string) ([]Lock, error) {
	folder, isFile := strings.CutPrefix(backend, fileScheme)
	if !isFile {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(folder, ".pulumi", "locks", "organization", project, stack, "*.json"))
	if err != nil {
		return nil, err
	}
	var locks []Lock
	for _, file := range files {
		lock, err := readLock(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // its owner has just ended
		}
		if err != nil {
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

func readLock(file string) (Lock, error) {
	lock := Lock{file: file}
	text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
	if err != nil {
		return lock, err
	}
	if len(bytes.Trim(text, "\x00")) == 0 {
		lock.Stale = true // the engine moves a complete file into place, so an empty one was lost in a power failure
		return lock, nil
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return lock, fmt.Errorf("%s: %w: if no other run is going on, delete it", file, err)
	}
	here, err := os.Hostname()
	lock.Stale = lock.Hostname == here && !alive(lock.PID)
	return lock, err
}

// alive reports whether a process is a running Pulumi CLI, of any user. The name is checked because the system reuses process IDs; a
// killed process keeps its ID until its parent has waited for it.
func alive(pid int) bool {
	if !process.Exists(pid) {
		return false
	}
	found, err := process.Find(pid)
	if err != nil {
		return true // the process cannot be examined
	}
	return found.Runs(cliName) && !found.Dead
}

// cliName is the name of a Pulumi CLI.
const cliName = "pulumi"
