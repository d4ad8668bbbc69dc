package recovery

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

const (
	// engineInterval is how often an abandoned engine is looked at.
	engineInterval = 100 * time.Millisecond
	// dialTimeout is how long an address of this machine may need to answer.
	dialTimeout = time.Second
)

// Abandoned reports whether the owner of the lock is an engine whose em-infra was killed. Such an engine begins nothing any more: it
// finishes what is in flight, saves the state, and removes its lock. It is known by the address that it was to ask for the
// program, `--client` (pulumi sdk/v3 v3.254.0, go/auto/stack.go): nobody listens there any more. Without /proc nothing is known.
func (e *BusyError) Abandoned(ctx context.Context) bool {
	if here, err := os.Hostname(); err != nil || here != e.Hostname {
		return false
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID))
	if err != nil {
		return false // it has just ended, or there is no /proc
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

// AwaitEnd waits until the owner of the lock has ended, which a killed one has as soon as its parent looks. The error is that of
// the context.
func (e *BusyError) AwaitEnd(ctx context.Context) error {
	for alive(e.PID) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(engineInterval):
		}
	}
	return nil
}
