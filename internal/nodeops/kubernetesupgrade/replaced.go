package kubernetesupgrade

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// removalTime is how long the removal of a worker may take from the reset of the machine to the deletion of its Node.
const removalTime = 30 * time.Second

// errStillANode is returned for a worker that did not leave.
var errStillANode = errors.New("it is still a Node")

// unlessReplaced returns the error of a step on a member; nil if that is a worker that does not answer and whose Node is gone, or soon will be:
// the run that upgrades replaces the worker at the same time, and configures the next machine with the new version afterwards.
func (u Upgrade) unlessReplaced(ctx context.Context, m member, err error) error {
	if err == nil || m.ControlPlane || ctx.Err() != nil || nodeops.IsAlive(ctx, u.Talosconfig, m.Address.String()) {
		return err
	}
	stays := u.await(ctx, removalTime, func(ctx context.Context) error {
		nodes, unread := u.nodes(ctx)
		if unread == nil && slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == m.Name }) {
			return errStillANode
		}
		return unread
	})
	if stays != nil {
		return err
	}
	u.say("%s is no Node any more: it starts with %s when it joins again", m.Name, u.To)
	return nil
}

// takeOutRemoved treats silent members whose Node was deleted meanwhile as machines that join: the run that upgrades replaces them at the same time,
// and configures the next ones after the upgrade.
func (u Upgrade) takeOutRemoved(ctx context.Context, seen *survey) {
	if !slices.ContainsFunc(seen.members, func(m member) bool { return m.problem != nil }) {
		return
	}
	nodes, err := u.nodes(ctx)
	if err != nil {
		return // the members are asked again
	}
	u.takeOut(seen, func(m *member) bool {
		return m.problem != nil && !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == m.Name })
	})
}

// takeOutUnconfigured treats silent members whose machines wait for their first configuration as machines that join: the former ones were deleted or
// reset. em-infra configures the new ones after the upgrade, in the same run or in the next one.
func (u Upgrade) takeOutUnconfigured(ctx context.Context, seen *survey) {
	u.takeOut(seen, func(m *member) bool {
		isNew := m.problem != nil && nodeops.InMaintenance(ctx, m.Address.String())
		if isNew {
			seen.former = append(seen.former, m.Node)
		}
		return isNew
	})
}

// forgetFormer removes what the former machines of those that join have left in the cluster: the pods of a DaemonSet would never roll out on
// their Nodes.
func (u Upgrade) forgetFormer(ctx context.Context, seen *survey) error {
	for _, node := range seen.former {
		if err := u.health().ForgetFormer(ctx, node); err != nil {
			return err
		}
		u.say("%s waits for its configuration: what its former machine has left in the cluster is removed, and it starts with %s", node.Name, u.To)
	}
	return nil
}

// takeOut moves the members for which joins returns true to the nodes that join.
func (u Upgrade) takeOut(seen *survey, joins func(*member) bool) {
	var stay []member
	for _, m := range seen.members {
		if joins(&m) {
			seen.joining = append(seen.joining, m.Node)
		} else {
			stay = append(stay, m)
		}
	}
	seen.members = stay
}
