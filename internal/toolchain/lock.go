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

// lock is held by the process that makes an entry. The kernel lets go of it when the process ends, however it ends.
type lock struct{ file *flock.Flock }

// errHeld means that another process has the lock.
var errHeld = errors.New("held by another process")

// lockInterval is how often who waits for a lock looks whether it is free.
const lockInterval = 100 * time.Millisecond

// acquire takes the lock of a path, and waits while another process has it. It calls waiting once, with that process.
func acquire(ctx context.Context, path string, waiting func(holder string)) (l *lock, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	told := false
	err = poll.Until(ctx, lockInterval, func(context.Context) (bool, error) {
		var err error
		l, err = tryAcquire(path)
		if !errors.Is(err, errHeld) {
			return err == nil, err
		}
		if !told {
			waiting(holder(path))
			told = true
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
	// Whoever removes an entry removes its lock too: a lock on a file that is no longer there protects nothing.
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

// release lets the next one in. Closing the file is what releases it, and cannot fail in a way that matters.
func (l *lock) release() { _ = l.file.Close() }

// holder reads who has a lock. It may have been taken this very moment, and not be signed yet.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return "process " + string(text)
}
