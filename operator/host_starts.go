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

// AwaitStarts implements [upHost].
func (h *hostChecks) AwaitStarts(ctx context.Context) error {
	return h.awaitHostStarts(ctx, h.inventory.Hosts())
}

// AwaitStarts implements [upHost]: a stack of hosts has no machines.
func (l layerHost) AwaitStarts(ctx context.Context) error {
	if len(l.layer.systems()) == 0 {
		return nil
	}
	return l.awaitHostStarts(ctx, l.layer.Hosts())
}

// awaitHostStarts waits while hosts start their machines. Otherwise the engine could find a machine off that runs a moment later, and could
// not start it. If it is not known whether hosts start machines, or if that takes too long, the run goes on: it can be run again.
func (h *hostChecks) awaitHostStarts(ctx context.Context, hosts []string) error {
	reader, err := pve.NewReader(h.host)
	if err != nil {
		return refused(err)
	}
	limited, cancel := context.WithTimeout(ctx, hostStartLimit)
	defer cancel()
	starting := ""
	err = poll.Until(limited, hostStartInterval, func(ctx context.Context) (done bool, err error) {
		found, err := reader.StartingHosts(ctx, hosts)
		if names := strings.Join(found, ", "); names != starting && names != "" {
			starting = names
			h.emit(Note{Text: fmt.Sprintf("waits for hosts that start their machines: %s (%s at most)", names, poll.InWords(hostStartLimit))})
		}
		return len(found) == 0, err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		h.emit(Note{Text: "hosts still start their machines: " + starting + "; this run goes on, and if a machine is switched on before it starts that one, run up again"})
	default:
		h.emit(Note{Text: fmt.Sprintf("em-infra could not find out whether hosts are starting their machines: %v", err)})
	}
	return nil
}
