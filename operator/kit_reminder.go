package operator

import "context"

// remindOfKit emits a note if the cluster, which was just brought up, has no recovery kit, or one that is older than its machine
// secrets. A rehearsal is not reminded: its cluster is not kept.
func (s *session) remindOfKit(ctx context.Context) error {
	if s.workspace.Rehearsed {
		return nil
	}
	secrets, err := s.inState().fingerprint(ctx)
	if err != nil {
		return err
	}
	reminder, err := s.kits().Reminder(secrets)
	if reminder != "" {
		s.emit(Note{Text: s.place.Complete(reminder)})
	}
	return err
}
