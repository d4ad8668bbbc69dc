package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// lostISOs returns the Commands whose ISO was deleted on the host. The engine's refresh does not detect that, so the Commands are
// passed to the engine as replacements. It reads nothing if the engine does not refresh.
func (e *stackEngine) lostISOs(ctx context.Context) (urns []string, err error) {
	if !e.refresh {
		return nil, nil
	}
	exported, err := e.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := pve.NewReader(*e.host)
	if err != nil {
		return nil, refused(err)
	}
	lost, err := status.LostISOs(ctx, reader, exported.Deployment)
	for _, template := range lost {
		urns = append(urns, string(template.Ensures))
	}
	return urns, err
}

// LostISOs implements [upHost].
func (h *hostChecks) LostISOs(ctx context.Context) ([]string, error) { return h.engine.lostISOs(ctx) }
