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
