package components

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// wholeClusterHooks returns the hooks around an update that concerns all nodes: no node is changed meanwhile.
func (r *rollout) wholeClusterHooks(name string) (pulumi.ResourceOption, error) {
	if r.ctx.RunningWithMocks() {
		return pulumi.Composite(), nil // see rollout.hooks
	}
	enter, err := r.ctx.RegisterResourceHook(name+"-enter", r.enterAll, nil)
	if err != nil {
		return nil, err
	}
	leave, err := r.ctx.RegisterResourceHook(name+"-leave", func(*pulumi.ResourceHookArgs) error { return r.leaveAll() }, nil)
	if err != nil {
		return nil, err
	}
	abandon, err := r.ctx.RegisterErrorHook(name+"-abandon", func(args *pulumi.ErrorHookArgs) (again bool, err error) {
		if args.FailedOperation != "update" {
			return false, nil
		}
		return false, r.leaveAll() // what does not work afterwards refuses further changes itself
	})
	if err != nil {
		return nil, err
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{
		BeforeUpdate: []*pulumi.ResourceHook{enter},
		AfterUpdate:  []*pulumi.ResourceHook{leave},
		OnError:      []*pulumi.ErrorHook{abandon},
	}), nil
}

// bootPatience is how long the change of the whole cluster waits for etcd, whose machines may just have been switched on. The change of
// one node has the wait of the lane.
const bootPatience = 5 * time.Minute

// enterAll waits until no node is being changed. Another version of Kubernetes changes all control planes.
func (r *rollout) enterAll(args *pulumi.ResourceHookArgs) error {
	lane, err := r.lane()
	if err != nil {
		return err
	}
	ctx, cancel := r.untilInterrupted()
	defer cancel()
	if err := lane.EnterAll(ctx); err != nil {
		return fmt.Errorf("the version of Kubernetes: %w", err)
	}
	if state.UpgradeKubernetes(updateOf(args.NewInputs)) == state.UpgradeKubernetes(updateOf(args.OldInputs)) {
		return nil
	}
	health, err := r.health()
	if err == nil {
		err = r.snapshot.before(ctx, rolling.Node{Name: "Kubernetes", ControlPlane: true}, health, bootPatience)
	}
	if err != nil {
		lane.LeaveAll()
	}
	return err
}

func (r *rollout) leaveAll() error {
	lane, err := r.lane()
	if err == nil {
		lane.LeaveAll()
	}
	return err
}
