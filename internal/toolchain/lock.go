package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"github.com/em-infra/em-infra/internal/poll"
)

// lock is held by the process that creates an entry. The kernel releases it when the process ends.
type lock struct{ file *flock.Flock }

// errHeld means that another process has the lock.
var errHeld = errors.New("held by another process")

// lockInterval is the time between two attempts to take a lock.
const lockInterval = 100 * time.Millisecond

// acquire takes the lock of a path. If another process has it, acquire calls waiting once, with that process, and waits.
func acquire(ctx context.Context, path string, waiting func(holder string)) (l *lock, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	reported := false
	err = poll.Until(ctx, lockInterval, func(context.Context) (bool, error) {
		var err error
		l, err = tryAcquire(path)
		if !errors.Is(err, errHeld) {
			return err == nil, err
		}
		if !reported {
			waiting(holder(path))
			reported = true
		}
		return false, nil
	})
	return l, err
}

// tryAcquire takes the lock, or returns errHeld at once.
func tryAcquire(path string) (*lock, error) {
	l := &lock{file: flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o600))}
	locked, err := l.file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !locked {
		return nil, errHeld
	}
	// A process that removes an entry also removes its lock: a lock on a removed file protects nothing.
	mine, errMine := l.file.Stat()
	there, errThere := os.Stat(path)
	if errMine != nil || errThere != nil || !os.SameFile(mine, there) {
		l.release()
		return nil, errHeld
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// release releases the lock by closing the file. An error of the close has no consequence.
func (l *lock) release() { _ = l.file.Close() }

// holder returns the process that holds a lock. The process may not have written its ID yet.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return "process " + string(text)
}
