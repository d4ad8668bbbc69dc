package recovery

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

const (
	// engineInterval is the longest interval between two checks of an abandoned engine.
	engineInterval = 100 * time.Millisecond
	// dialTimeout is the time limit for an address of this machine to answer.
	dialTimeout = time.Second
)

// Abandoned reports whether the owner of the lock is an engine whose em-infra was killed. Such an engine begins nothing new: it finishes its
// running operations, saves the state, and removes its lock. It is recognized by the address of the program in its argument `--client` (pulumi
// sdk/v3 v3.254.0, go/auto/stack.go), on which no process listens any more. Without /proc it returns false.
func (e *BusyError) Abandoned(ctx context.Context) bool {
	if here, err := os.Hostname(); err != nil || here != e.Hostname {
		return false
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID))
	if err != nil {
		return false // the process has just ended, or there is no /proc
	}
	for argument := range strings.SplitSeq(string(arguments), "\x00") {
		if address, found := strings.CutPrefix(argument, "--client="); found {
			return !listens(ctx, address)
		}
	}
	return false
}

func listens(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was written
	return true
}

// AwaitEnd waits until the owner of the lock has ended; a zombie counts as ended. It returns the error of the context.
func (e *BusyError) AwaitEnd(ctx context.Context) error {
	return poll.Until(ctx, engineInterval, func(context.Context) (bool, error) { return !alive(e.PID), nil })
}
