package operator

import (
	"context"
	"errors"

	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// remindOfKit emits a note if the cluster, which was just brought up, has no recovery kit, or one that is older than its machine
// secrets. A rehearsal is not reminded: its cluster is not kept.
func (s *session) remindOfKit(ctx context.Context) error {
	if s.workspace.Rehearsed {
		return nil
	}
	fingerprint, err := s.secretsFingerprint(ctx)
	if err != nil {
		return err
	}
	newest, err := s.kits().Newest()
	switch {
	case errors.Is(err, recoverykit.ErrNone):
		s.emit(Note{Text: s.place.Complete("there is no recovery kit for the day on which this computer is lost: `em-infra kit create` makes one")})
	case err != nil:
		return err
	case newest.Secrets != fingerprint:
		s.emit(Note{Text: s.place.Complete("the recovery kit " + newest.Name + " is older than the machine secrets: `em-infra kit create` makes a new one")})
	}
	return nil
}
