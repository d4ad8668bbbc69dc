package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// missingState checks whether a state can be created for a stack that has none.
type missingState struct {
	*Operator

	at    statePlace
	place remedy.Place
}

func (s *session) missingState() missingState {
	return missingState{Operator: s.Operator, at: s.statePlace(s.workspace.Backend), place: s.place}
}

// mayBeMade refuses to create a state if the stack has had one, if the operation creates none (create is false), or if none can be kept there.
func (m missingState) mayBeMade(ctx context.Context, create bool) error {
	if err := m.checkNotMoved(ctx); err != nil {
		return refused(err)
	}
	if err := m.checkNotLost(ctx); err != nil {
		return refused(err)
	}
	if err := m.checkFirst(); err != nil {
		return refused(err)
	}
	if !create {
		return refused(fmt.Errorf("there is no state of stack %s: nothing was ever brought up; `em-infra up` does that", m.workspace.Stack))
	}
	return m.at.check(ctx)
}

// checkNotLost refuses to create a state if there are backups of an earlier one: the engine would create everything again.
func (m missingState) checkNotLost(ctx context.Context) error {
	backups, err := m.backups().List()
	if err != nil {
		return err
	}
	if len(backups) > 0 {
		return fmt.Errorf("the state of stack %s is gone, but backups of it are here: put the newest back with `em-infra state restore %s`; only if everything that it made is deleted, begin anew by moving %s away",
			m.workspace.Stack, m.place.Stack, workspace.Nearby(m.workspace.Backups))
	}
	backups, err = m.backupsInBucket(ctx)
	if err != nil {
		return m.at.explained(ctx, err)
	}
	if len(backups) == 0 {
		return nil
	}
	return fmt.Errorf("the state of stack %s is gone, but backups of it are in the bucket: put the newest back with `em-infra state restore %s`; only if everything that it made is deleted, begin anew by deleting %s there",
		m.workspace.Stack, m.place.Stack, backup.Folder(workspace.Project, m.workspace.Stack))
}

// checkFirst refuses to create a state for a stack that has had one: it may be elsewhere. A rehearsal in its own folder begins anew when
// that is emptied, and the draft of an adoption is in another place on purpose.
func (m missingState) checkFirst() error {
	own := *m.workspace
	if err := own.RereadBackend(); err != nil || own.Backend != m.workspace.Backend {
		return err
	}
	had, err := m.workspace.HadState()
	if err != nil || !had || m.workspace.Rehearsed && m.workspace.StateFolder() != "" {
		return err
	}
	file := workspace.Nearby(m.workspace.StackFile())
	return fmt.Errorf("stack %s has had a state (%s has its salt or key), and %s has none: if it is elsewhere, write its URL as em-infra:backend below config in that file; if it is lost, see `em-infra state list %s` and `em-infra adopt`; for a new cluster, delete the lines encryptionsalt and encryptedkey there, and the values that they seal",
		m.workspace.Stack, file, m.workspace.ShownBackend(), m.place.Stack)
}
