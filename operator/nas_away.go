package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// CheckNAS implements [destroyStorage]. Without a key in the inventory the engine goes on with the one in the state, so that is no refusal. What
// was there of an inventory that has no storage any more is left to the engine, too.
func (s *session) CheckNAS(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil || s.inventory == nil || !state.DeletesOnNAS(exported.Deployment) {
		return err
	}
	box, err := s.box(ctx)
	if err != nil || box == nil || box.Err != nil {
		return err
	}
	away := preflight.Reach(ctx, *box)
	if away == nil || truenas.IsGoneForGood(box.Connection.Endpoint) {
		return nil
	}
	return refused(errors.New(away.Error() + truenas.OrGoneForGood(box.Connection.Endpoint)))
}

// whyNoNAS returns a clause about a NAS that lets nobody in although the stack has something there; empty if it does. The engine leaves what is
// there unread then (docs/decisions/0096).
func (s *session) whyNoNAS(ctx context.Context) (string, error) {
	if len(s.onNAS) == 0 {
		return "", nil
	}
	box, err := s.box(ctx)
	if err != nil || box == nil {
		return "", err
	}
	away := box.Err
	if away == nil {
		away = preflight.Reach(ctx, *box)
	}
	if away == nil {
		return "", nil
	}
	return fmt.Sprintf("what is on TrueNAS: %v", away), nil
}
