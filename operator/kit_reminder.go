package operator

import "context"

// remindOfKit emits a note if the cluster, which was just brought up, has no recovery kit, or one that is older than its machine
// secrets. A rehearsal is not reminded: its cluster is not kept.
func (c conclusion) remindOfKit(ctx context.Context) error {
	if c.workspace.Rehearsed {
		return nil
	}
	secrets, err := c.cluster.fingerprint(ctx)
	if err != nil {
		return err
	}
	reminder, err := c.kits().Reminder(secrets)
	if reminder != "" {
		c.emit(Note{Text: c.cluster.place.Complete(reminder)})
	}
	return err
}
