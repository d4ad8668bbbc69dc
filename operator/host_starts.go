package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/pve"
)

const (
	// hostStartLimit is how long hosts may take to start their machines: each start waits for the one before it.
	hostStartLimit    = 10 * time.Minute
	hostStartInterval = 2 * time.Second
)

// awaitHostStarts waits while hosts start their machines after their own start. The engine would find a machine off that runs a moment later,
// and could not start it.
func (s *session) awaitHostStarts(ctx context.Context) error {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return refused(err)
	}
	limited, cancel := context.WithTimeout(ctx, hostStartLimit)
	defer cancel()
	told := ""
	err = poll.Until(limited, hostStartInterval, func(ctx context.Context) (done bool, err error) {
		hosts, err := reader.StartingHosts(ctx)
		if names := strings.Join(hosts, ", "); names != told && names != "" {
			told = names
			s.emit(Note{Text: fmt.Sprintf("waits for %s, which starts its machines after its own start, %s at most", names, poll.InWords(hostStartLimit))})
		}
		return len(hosts) == 0, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		s.emit(Note{Text: told + " still starts its machines: this run goes on, and may find one switched on that was off"})
		return nil
	default:
		return refused(err)
	}
}
