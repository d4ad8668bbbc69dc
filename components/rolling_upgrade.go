package components

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	talosupgrade "github.com/em-infra/em-infra/internal/nodeops/upgrade"
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

// installerOf returns the image that a machine is installed from, and upgraded to.
func (args TalosClusterArgs) installerOf(m Machine, node *TalosNode) (string, error) {
	patched, err := PatchedInstaller(args.Patches, m)
	if err != nil {
		return "", fmt.Errorf("%s: patches: %w", m.Name, err)
	}
	return cmp.Or(patched, node.installer), nil
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

// upgradeHooks returns the hooks around each update of a node's membership. An update takes a place in the lane only if the node does not run the
// wanted release: renewed credentials, and a run after one that was killed, wait for nothing.
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

// enter waits until the node has the image and may be upgraded, and drains it. An error leaves the node as it is.
func (u upgrade) enter(args *pulumi.ResourceHookArgs) error {
	image, former := upgradeImage(args.NewInputs), upgradeImage(args.OldInputs)
	if image == "" && former == "" {
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
	if !u.isNeeded(health, wanted, image != former) {
		return nil
	}
	ctx, cancel := u.untilInterrupted()
	defer cancel()
	u.changing.Store(u.node.Name, args.URN)
	if err := u.canary.await(ctx, u.node, func(what string) { u.reportNode(u.node, what) }); err != nil {
		return err
	}
	if needed, err := u.fetch(ctx, health, image); err != nil || !needed {
		return err
	}
	return u.takePlace(ctx, health)
}

// takePlace waits until the node may be upgraded, and drains it.
func (u upgrade) takePlace(ctx context.Context, health nodeops.Health) error {
	lane, err := u.lane()
	if err != nil {
		return err
	}
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

// fetch has the node pull the image before it takes a place in the lane, so that nodes which wait for their turn pull meanwhile, and reports
// whether the node needs the upgrade. One node pulls at a time: on a slow connection the first node can then begin, and not all of them exceed
// their time limits. A machine that is off is left to the upgrade, which reports it.
func (u upgrade) fetch(ctx context.Context, health nodeops.Health, image string) (needed bool, err error) {
	if health.IsOff(ctx, u.node) {
		return true, nil
	}
	u.reportNode(u.node, "waits until another node has the image of Talos")
	select {
	case u.pulling <- struct{}{}:
		defer func() { <-u.pulling }()
	case <-ctx.Done():
		return false, fmt.Errorf("%s is untouched: %w", u.node.Name, context.Cause(ctx))
	}
	u.reportNode(u.node, "gets the image of Talos")
	return talosupgrade.Node{
		Name: u.node.Name, Address: u.node.Address.String(), ControlPlane: u.node.ControlPlane, Image: image,
		Talosconfig: health.Talosconfig, Progress: io.Discard,
	}.Fetch(ctx)
}

// isNeeded reports whether the update upgrades the node. The Command compares the image with what the node runs and not with the former image,
// which is the same after a rollback, or after an upgrade by hand. A silent node is upgraded if its image is new. An interrupt does not end the
// query: a node that was not queried would be treated as a silent one.
func (u upgrade) isNeeded(health nodeops.Health, wanted nodeops.Release, isNew bool) bool {
	seen, silent := nodeops.LookAt(u.ctx.Context(), health.Talosconfig, u.node.Address.String())
	if silent != nil {
		return isNew
	}
	return !seen.Release.Satisfies(wanted)
}

// leave fails the run if the node does not work again after its upgrade, and uncordons it if it does. It also uncordons a node that an earlier run
// upgraded before it was ended.
func (u upgrade) leave(args *pulumi.ResourceHookArgs) error {
	inLane := u.inLane.Swap(false)
	if !inLane && upgradeImage(args.NewInputs) == upgradeImage(args.OldInputs) {
		return nil
	}
	lane, err := u.lane()
	if err != nil {
		return err
	}
	ctx, cancel := u.untilInterrupted()
	defer cancel()
	if inLane {
		return lane.Leave(ctx, u.node)
	}
	return u.takeBack(ctx, lane)
}

// takeBack uncordons a node that had the release already: a run that was ended may have drained it. An API server that is down does not fail the
// update, since a later step of the run may repair it.
func (u upgrade) takeBack(ctx context.Context, lane *rolling.Lane) error {
	if err := lane.TakeBack(ctx, u.node); err != nil {
		return u.ctx.Log.Warn(err.Error(), nil)
	}
	return nil
}

// abandon gives up a node whose upgrade failed.
func (u upgrade) abandon(args *pulumi.ErrorHookArgs) (again bool, err error) {
	if args.FailedOperation != "update" || !u.inLane.Swap(false) {
		return false, nil
	}
	return false, u.giveUp(u.node)
}
