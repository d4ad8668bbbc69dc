package rolling

import "context"

// whole takes the place of all nodes in a lane. A control plane changes alone, and so does the whole cluster.
var whole = Node{Name: "the cluster", ControlPlane: true}

// EnterAll returns when no node is being changed, and none is admitted until LeaveAll is called, except for machines that are
// switched on. The error states why nothing may be changed; LeaveAll must not be called then.
func (l *Lane) EnterAll(ctx context.Context) error {
	return l.takeTurn(ctx, Change{Node: whole})
}

// LeaveAll admits nodes again.
func (l *Lane) LeaveAll() { l.giveBack(whole, nil) }
