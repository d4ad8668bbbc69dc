package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

const (
	// turnName is a socket in Linux' abstract namespace (unix(7)). Each network namespace has its own, like its ports, and
	// the socket ends with its process.
	turnName = "@em-infra-lab-chooses-its-addresses"
	// turnTimeout is how long the wait for other labs may take. Each opens its host and listens, which takes a second.
	turnTimeout  = 2 * time.Minute
	turnInterval = 20 * time.Millisecond
)

// takeTurn waits until no other lab on this machine, of any project, is between choosing its addresses and listening on them.
// It keeps other labs waiting until the returned listener is closed.
func takeTurn(ctx context.Context) (net.Listener, error) {
	began := time.Now()
	var turn net.Listener
	err := poll.Until(ctx, turnInterval, func(context.Context) (bool, error) {
		var err error
		turn, err = net.Listen("unix", turnName)
		switch {
		case err == nil:
			return true, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return false, err
		case time.Since(began) > turnTimeout:
			return false, fmt.Errorf("another lab has been starting for %s: find it with `ss -lxp 'src = %s'`, end it, and start this one again", turnTimeout, turnName)
		default:
			return false, nil
		}
	})
	return turn, err
}
