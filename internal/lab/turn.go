package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	// turnName is a socket in Linux' abstract namespace (unix(7)). Each network namespace has its own, as it has its own ports,
	// and it goes with the process that listens there.
	turnName = "@em-infra-lab-chooses-its-addresses"
	// turnTimeout is how long other labs may need for theirs: each opens its host and listens, which takes a second.
	turnTimeout  = 2 * time.Minute
	turnInterval = 20 * time.Millisecond
)

// takeTurn waits until no other lab of this machine, of whatever project, is between choosing its addresses and listening there,
// and keeps the turn until the listener is closed.
func takeTurn(ctx context.Context) (net.Listener, error) {
	deadline := time.After(turnTimeout)
	for {
		turn, err := net.Listen("unix", turnName)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return turn, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-deadline:
			return nil, fmt.Errorf("another lab has been starting for %s: find it with `ss -lxp 'src = %s'`, end it, and start this one again", turnTimeout, turnName)
		case <-time.After(turnInterval):
		}
	}
}
