package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lock is held by the process that makes an entry. The kernel lets go of it when the process ends, however it ends.
type lock struct{ file *os.File }

// errHeld says that another process has the lock.
var errHeld = errors.New("held by another process")

// acquire takes the lock of a path, and waits for whoever has it. It calls waiting once, with who that is.
func acquire(ctx context.Context, path string, waiting func(holder string)) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	told := false
	for {
		l, err := tryAcquire(path)
		if !errors.Is(err, errHeld) {
			return l, err
		}
		if !told {
			waiting(holder(path))
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tryAcquire takes the lock, or says errHeld at once.
func tryAcquire(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &lock{file: f}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		l.release()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Whoever removes an entry removes its lock too: a lock on a file that is no longer there protects nothing.
	mine, errMine := f.Stat()
	there, errThere := os.Stat(path)
	if errMine != nil || errThere != nil || !os.SameFile(mine, there) {
		l.release()
		return nil, errHeld
	}
	if err := f.Truncate(0); err != nil {
		l.release()
		return nil, err
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
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
