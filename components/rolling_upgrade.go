package components

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// upgradeCommand returns the update of a membership: it brings the release of an installer image to its node, and does nothing if
// the node runs it.
func (m Machine) upgradeCommand(image string) string {
	command := fmt.Sprintf("%s node upgrade --name %s --address %s --image %s", Tool, m.Name, m.endpoint(), image)
	if m.Role == RoleControlPlane {
		command += " --control-plane"
	}
	return command
}

// upgradeImage returns the image in the update of a membership; empty for the inputs of a membership without one.
func upgradeImage(inputs resource.PropertyMap) string { return state.UpgradeImage(updateOf(inputs)) }

// updateOf returns the update of a Command; empty if it has none.
func updateOf(inputs resource.PropertyMap) string {
	update := plain(inputs["update"])
	if !update.IsString() {
		return ""
	}
	return update.StringValue()
}

// upgrade is the upgrade of one node in its rollout.
type upgrade struct {
	*rollout
	node   rolling.Node
	inLane *atomic.Bool // whether it has a place in the lane
}

// upgradeHooks returns the hooks around each update of a node's membership. Only an update to a release that the node does not run
// takes a place in the lane: renewed credentials, and a run after one that was killed, wait for nothing.
func (r *rollout) upgradeHooks(name string, m Machine) (pulumi.ResourceOption, error) {
	if r.ctx.RunningWithMocks() { // see hooks
		return pulumi.Composite(), nil
	}
	u := upgrade{rollout: r, node: m.rollingNode(), inLane: &atomic.Bool{}}
	enter, err := r.ctx.RegisterResourceHook(name+"-upgrade-enter", u.enter, nil)
	if err != nil {
		return nil, err
	}
	leave, err := r.ctx.RegisterResourceHook(name+"-upgrade-leave", u.leave, nil)
	if err != nil {
		return nil, err
	}
	abandon, err := r.ctx.RegisterErrorHook(name+"-upgrade-abandon", u.abandon)
	if err != nil {
		return nil, err
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{
		BeforeUpdate: []*pulumi.ResourceHook{enter},
		AfterUpdate:  []*pulumi.ResourceHook{leave},
		OnError:      []*pulumi.ErrorHook{abandon},
	}), nil
}

// enter waits until the node may be upgraded, and drains it. An error leaves the node as it is.
func (u upgrade) enter(args *pulumi.ResourceHookArgs) error {
	image := upgradeImage(args.NewInputs)
	if image == upgradeImage(args.OldInputs) {
		return nil
	}
	wanted, err := nodeops.ReleaseOf(image)
	if err != nil {
		return fmt.Errorf("%s is untouched: %w", u.node.Name, err)
	}
	health, err := u.health()
	if err != nil {
		return err
	}
	ctx, cancel := u.untilInterrupted()
	defer cancel()
	if u.runs(ctx, health, wanted) {
		return nil
	}
	if err := u.canary.await(ctx, u.node); err != nil {
		return err
	}
	lane, err := u.lane()
	if err != nil {
		return err
	}
	u.changing.Store(u.node.Name, args.URN)
	change := rolling.Change{
		Node: u.node, Reboots: true, Yields: health.LeadsEtcd(ctx, u.node), MinReady: u.canary.pauseOf(u.node),
	}
	if err := lane.Enter(ctx, change); err != nil {
		return err
	}
	if err := u.snapshotBefore(ctx, change); err != nil {
		return errors.Join(err, lane.Decline(ctx, u.node))
	}
	u.inLane.Store(true)
	u.reportNode(u.node, "its upgrade goes on")
	return nil
}

// runs reports whether the node is known to run a release.
func (u upgrade) runs(ctx context.Context, health nodeops.Health, wanted nodeops.Release) bool {
	seen, err := nodeops.LookAt(ctx, health.Talosconfig, u.node.Address.String())
	return err == nil && seen.Release == wanted
}

// leave fails the run if the node does not work again after its upgrade, and uncordons it if it does.
func (u upgrade) leave(*pulumi.ResourceHookArgs) error {
	if !u.inLane.Swap(false) {
		return nil
	}
	lane, err := u.lane()
	if err != nil {
		return err
	}
	ctx, cancel := u.untilInterrupted()
	defer cancel()
	return lane.Leave(ctx, u.node)
}

// abandon closes the lane after a failed upgrade. A node that runs, untouched or rolled back, takes pods again.
func (u upgrade) abandon(args *pulumi.ErrorHookArgs) (again bool, err error) {
	if args.FailedOperation != "update" || !u.inLane.Swap(false) {
		return false, nil
	}
	lane, err := u.lane()
	if err != nil {
		return false, err
	}
	defer lane.Abandon(u.node)
	health, err := u.health()
	if err != nil {
		return false, err
	}
	seen, silent := nodeops.LookAt(u.ctx.Context(), health.Talosconfig, u.node.Address.String())
	if silent != nil || seen.Stage != runtime.MachineStageRunning {
		return false, nil
	}
	return false, lane.Decline(u.ctx.Context(), u.node)
}
