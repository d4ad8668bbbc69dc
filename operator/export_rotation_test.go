package operator

import (
	"context"
	"time"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// Rotate keeps new secrets in the state, as the rotation what does, and takes a step that changes nothing.
func (s *session) Rotate(ctx context.Context, what string, renewed rotation.Replacements) error {
	r := s.secretsRun(secretsRotation{
		what: what, steps: []rotationStep{{text: "a step"}},
		renew: func(*engine.Exported, time.Time) (rotation.Replacements, error) { return renewed, nil },
	})
	if err := r.keepNew(ctx); err != nil {
		return err
	}
	return r.next(ctx)
}

// KeepNew keeps new secrets in the state, as a rotation that is killed then. The function that is returned goes on with it.
func (s *session) KeepNew(ctx context.Context, what string, renewed rotation.Replacements) (resume func() error, err error) {
	r := s.secretsRun(secretsRotation{what: what})
	err = r.change(ctx, func(exported *engine.Exported) error {
		return rotation.Note{What: what, Begun: s.clock.Now(), Replacements: renewed}.In(&exported.Deployment)
	})
	return func() error { return r.prepare(ctx) }, err
}

// TellUnreadTokens reports the stacks whose tokens cannot be read.
func (s *session) TellUnreadTokens(ctx context.Context) error {
	return s.tokenReplacement().tellUnread(ctx)
}
