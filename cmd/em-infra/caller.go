package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// errCallerGone is why an operation that a Command of the program has called ends before its time.
var errCallerGone = errors.New("the plugin that called this has ended")

// callerInterval is how long it may take until an operation notices that.
const callerInterval = 500 * time.Millisecond

// whileCallerReads has the operations that the program's Commands call end with the plugin that called them, which was killed and no
// longer reads what they say. Its shell goes on waiting for them, so they would drain and reset nodes for a run that is over.
func whileCallerReads(parent *cobra.Command) *cobra.Command {
	for _, command := range parent.Commands() {
		operate := command.RunE
		command.RunE = func(command *cobra.Command, args []string) error {
			ctx, cancel := whileRead(command.Context(), os.Stdout)
			defer cancel()
			command.SetContext(ctx)
			return operate(command, args)
		}
	}
	return parent
}

// whileRead returns a context that is canceled when the reader of the pipe out has closed it. It is not canceled where out is no
// pipe.
func whileRead(ctx context.Context, out *os.File) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			for ctx.Err() == nil && isRead(int(out.Fd())) {
			}
			cancel(errCallerGone)
		}()
	}
	return ctx, func() { cancel(nil) }
}

// isRead waits for a moment whether the reader of a pipe goes away. Linux calls that an error, BSD and macOS a hang-up.
func isRead(fd int) bool {
	polled := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(polled, int(callerInterval.Milliseconds()))
	return err != nil || n == 0 || polled[0].Revents&(unix.POLLERR|unix.POLLHUP) == 0
}
