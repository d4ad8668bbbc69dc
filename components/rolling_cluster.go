package components

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// kubernetesHooks returns the hook before an update of the version of Kubernetes, which upgrades the cluster.
func (r *rollout) kubernetesHooks(name string) (pulumi.ResourceOption, error) {
	if r.ctx.RunningWithMocks() {
		return pulumi.Composite(), nil // see rollout.hooks
	}
	upgrade, err := r.ctx.RegisterResourceHook(name+"-upgrade", r.kubernetesHook, nil)
	if err != nil {
		return nil, err
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{BeforeUpdate: []*pulumi.ResourceHook{upgrade}}), nil
}

// snapshotWait is how long a change waits for etcd, whose machines may just have been switched on.
var snapshotWait = nodeops.SnapshotWait{Works: 5 * time.Minute, Starts: time.Minute}

// kubernetesHook upgrades the cluster while no node is being changed: another version changes all control planes. An error leaves the
// former version in the state, so the next run goes on.
func (r *rollout) kubernetesHook(args *pulumi.ResourceHookArgs) error {
	to := state.KubernetesOf(updateOf(args.NewInputs))
	if to == state.KubernetesOf(updateOf(args.OldInputs)) {
		return nil
	}
	lane, err := r.lane()
	if err != nil {
		return err
	}
	ctx, cancel := r.untilInterrupted()
	defer cancel()
	if err := lane.EnterAll(ctx); err != nil {
		return fmt.Errorf("the version of Kubernetes: %w", err)
	}
	defer lane.LeaveAll() // also after an error: what does not work afterwards refuses further changes itself
	return r.upgradeCluster(ctx, to)
}

func (r *rollout) upgradeCluster(ctx context.Context, to string) error {
	health, err := r.health()
	if err != nil {
		return err
	}
	if err := r.snapshot.before(ctx, rolling.Node{Name: "Kubernetes", ControlPlane: true}, health, snapshotWait); err != nil {
		return err
	}
	return r.upgradeKubernetes(ctx, kubernetesUpgrade(to, health))
}
