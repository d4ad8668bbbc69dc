package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// LostISOs returns the Commands whose ISO was deleted on the host. The engine's refresh does not detect that, so the Commands are
// passed to the engine as replacements. It reads nothing if the session does not refresh.
func (s *session) LostISOs(ctx context.Context) (urns []string, err error) {
	if !s.refresh {
		return nil, nil
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return nil, refused(err)
	}
	lost, err := status.LostISOs(ctx, reader, exported.Deployment)
	for _, template := range lost {
		urns = append(urns, string(template.Ensures))
	}
	return urns, err
}
