package operator

import (
	"context"
	"fmt"
)

// BackUp writes a backup of the state; its secrets stay encrypted. If the state is in a bucket, the bucket gets a copy; what goes wrong there
// is in the result. Up and Destroy make backups by themselves.
func (o *Operator) BackUp(ctx context.Context) (*KeptBackup, error) {
	s, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return nil, err
	}
	saved, err := s.state.BackUp(ctx, "by-hand")
	if err == nil && saved == nil {
		err = refused(fmt.Errorf("the state of stack %s holds nothing: bring the cluster up first", s.workspace.Stack))
	}
	return saved, err
}
