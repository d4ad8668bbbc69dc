package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/filematch"
	"github.com/em-infra/em-infra/internal/process"
)

// Lock is the content of the engine's lock file (pulumi pkg/v3 v3.254.0, backend/diy/lock.go), or of a [Claim].
type Lock struct {
	// PID is the process that holds it.
	PID int `json:"pid"`
	// Username is the user of that process; empty for a claim of a user without a name.
	Username string `json:"username,omitempty"`
	// Hostname is the machine of that process.
	Hostname string `json:"hostname"`
	// Since is when it was taken, by the clock of that machine.
	Since time.Time `json:"timestamp,omitzero"`
	// Run is the URL of the run of a pipeline that holds it; empty for none, or an unknown one.
	Run string `json:"run,omitempty"`
	// Stale is whether its owner is dead. An owner on another machine may live.
	Stale bool `json:"stale"`

	remove func(context.Context) error
	own    bool // the claim of this process
	seen   bool // its process runs, as this machine sees

	ofEngine bool // and no claim
}

// fileScheme is the scheme of a state in a folder of this machine.
const fileScheme = "file://"

// BusyError is returned if another run works on the stack.
type BusyError struct{ Lock }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run works on this stack (%s): wait for it to end, then run again", e.Owner())
}

// IsOwn reports whether it is the claim of this process.
func (l Lock) IsOwn() bool { return l.own }

// IsUnseen reports whether nothing shows that its owner works: the process is not seen from here. The name of the machine proves nothing,
// because a machine keeps it when it starts anew, and other machines can have it.
func (l Lock) IsUnseen() bool { return !l.seen }

// Owner describes who holds a lock, and since when.
func (l Lock) Owner() string {
	owner := fmt.Sprintf("process %d", l.PID)
	if l.Username != "" {
		owner += " of " + l.Username
	}
	owner += " on " + l.Hostname
	if l.Run != "" {
		owner += ", " + l.Run
	}
	if !l.Since.IsZero() {
		owner += ", since " + l.Since.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return owner
}

// Abandonable is the age from which a lock of another machine counts as one of a run that has ended, if a person asks for its removal. The
// longest job of a hosted runner takes 6 hours (GitHub, Usage limits), and no wait of a run is as long.
const Abandonable = 24 * time.Hour

// ClearStaleLocks removes a stack's locks whose owners are dead, and returns their number. It returns a [BusyError] if an owner is
// alive, or may be alive on another machine, and removes nothing then. Locks from before a time are removed as well; the zero time means
// none. The claim is removed last: in a bucket, the locks of the engine cannot be judged without it, so a run that is cut off here must not
// leave them alone.
func ClearStaleLocks(ctx context.Context, at Place, before time.Time) (int, error) {
	locks, err := Locks(ctx, at)
	if err != nil {
		return 0, err
	}
	for _, lock := range locks {
		if !lock.Stale && !lock.takenBefore(before) {
			return 0, &BusyError{lock}
		}
	}
	for _, lock := range slices.Backward(locks) { // the claim is the first one
		if err := lock.remove(ctx); err != nil {
			return 0, err
		}
	}
	return len(locks), nil
}

// RemoveDead removes the locks whose owners are dead, the claim last, and leaves all others. It returns the lock of an engine that may live;
// nil for none.
func RemoveDead(ctx context.Context, at Place) (left *BusyError, err error) {
	locks, err := Locks(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, lock := range slices.Backward(locks) {
		switch {
		case lock.Stale:
			if err := lock.remove(ctx); err != nil {
				return nil, err
			}
		case lock.ofEngine:
			left = &BusyError{lock}
		}
	}
	return left, nil
}

func (l Lock) takenBefore(limit time.Time) bool { return !l.Since.IsZero() && l.Since.Before(limit) }

// Owner returns the other run that works on a stack; nil if none is known.
func Owner(ctx context.Context, at Place) (*BusyError, error) {
	locks, err := Locks(ctx, at)
	for _, lock := range locks {
		if !lock.Stale && !lock.own {
			return &BusyError{lock}, nil
		}
	}
	return nil, err
}

// Place is where the state of a stack is.
type Place struct {
	// Backend is the URL, Project and Stack the names.
	Backend, Project, Stack string
}

// LockFolders returns the folders of the claim and of the engine's locks below the backend.
func (p Place) LockFolders() []string { return []string{p.claims(), p.locks()} }

// locks is the folder of the engine's locks below the backend.
func (p Place) locks() string {
	return path.Join(".pulumi", "locks", "organization", p.Project, p.Stack)
}

// Locks returns the locks of a stack, the claim of an em-infra first; nil if its state is neither in a folder of this machine nor in a bucket of
// S3.
func Locks(ctx context.Context, at Place) ([]Lock, error) {
	if at.inBucket() {
		return at.locksInBucket(ctx)
	}
	folder, isFile := strings.CutPrefix(at.Backend, fileScheme)
	if !isFile {
		return nil, nil
	}
	files, err := filematch.In(filepath.Join(folder, filepath.FromSlash(at.locks())), "*.json")
	if err != nil {
		return nil, err
	}
	locks, err := at.claimAsLock(ctx)
	if err != nil {
		return nil, err
	}
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

// claimAsLock returns the claim in the folder of the state; nil for none.
func (p Place) claimAsLock(ctx context.Context) ([]Lock, error) {
	if p.folder() == "" {
		return nil, nil
	}
	claim, err := p.claim(ctx)
	if err != nil || claim == nil {
		return nil, err
	}
	return []Lock{p.lockOf(*claim)}, nil
}

func readLock(file string) (Lock, error) {
	lock := Lock{ofEngine: true, remove: func(context.Context) error {
		if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil // another run that found it dead was first
	}}
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
	lock.judge(lock.Hostname == here, alive)
	return lock, err
}

// judge notes whether the owner of a lock lives, if its process can be seen from here.
func (l *Lock) judge(isVisible bool, lives func(pid int) bool) {
	l.seen = isVisible && lives(l.PID)
	l.Stale = isVisible && !l.seen
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
