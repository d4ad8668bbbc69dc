//go:build unix

package process

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// IsRead waits, at most for the interval, and reports whether the reader of a pipe is still there. Linux reports its end as an
// error, BSD and macOS as a hang-up.
func IsRead(pipe *os.File, interval time.Duration) bool {
	polled := []unix.PollFd{{Fd: int32(pipe.Fd())}} //nolint:gosec // a descriptor
	n, err := unix.Poll(polled, int(interval.Milliseconds()))
	return err != nil || n == 0 || polled[0].Revents&(unix.POLLERR|unix.POLLHUP) == 0
}
