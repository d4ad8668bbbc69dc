package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// lostISOs are the Commands whose ISO somebody has deleted on the host. The engine's refresh does not see that, so they are
// named to it as what is to be made anew. Nothing is asked where the state is taken as it is.
func (s *session) lostISOs(ctx context.Context) (urns []string, err error) {
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
