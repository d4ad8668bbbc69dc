// Package flock emulates the file locks of a Proxmox VE host: shared or exclusive, with a time limit.
package flock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// everyone is the weight of an exclusive lock, and the maximum number of shared ones.
const everyone = 1 << 30

// Locks are the lock files of one host. The zero value is ready for use.
type Locks struct {
	mu    sync.Mutex
	files map[string]*semaphore.Weighted
}

// TimeoutError is Proxmox VE's error for a lock that was not acquired in time.
type TimeoutError struct {
	// Text is the complete error text.
	Text string
}

func (e *TimeoutError) Error() string { return e.Text }

// ConfigFile returns the lock file of a VM's configuration.
func ConfigFile(vmid int) string { return fmt.Sprintf("/var/lock/qemu-server/lock-%d.conf", vmid) }

// ContainerFile returns the lock file of a container's configuration (pve-container LXC/Config.pm, config_file_lock).
func ContainerFile(vmid int) string { return fmt.Sprintf("/run/lock/lxc/pve-config-%d.lock", vmid) }

// TimeoutText returns the error text of a file lock (pve-common Tools.pm, lock_file_full).
func TimeoutText(file string) string { return fmt.Sprintf("can't lock file '%s' - got timeout", file) }

// Exclusive acquires an exclusive lock and returns its release. The error is a *TimeoutError after the limit, or the
// context's error.
func (l *Locks) Exclusive(ctx context.Context, file string, limit time.Duration) (func(), error) {
	return l.acquire(ctx, file, limit, everyone)
}

// Shared acquires a shared lock.
func (l *Locks) Shared(ctx context.Context, file string, limit time.Duration) (func(), error) {
	return l.acquire(ctx, file, limit, 1)
}

func (l *Locks) acquire(ctx context.Context, file string, limit time.Duration, weight int64) (func(), error) {
	lock := l.file(file)

	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	if err := lock.Acquire(limited, weight); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}

		return nil, &TimeoutError{Text: TimeoutText(file)}
	}

	return sync.OnceFunc(func() { lock.Release(weight) }), nil
}

func (l *Locks) file(name string) *semaphore.Weighted {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.files == nil {
		l.files = map[string]*semaphore.Weighted{}
	}

	lock, ok := l.files[name]
	if !ok {
		lock = semaphore.NewWeighted(everyone)
		l.files[name] = lock
	}

	return lock
}
