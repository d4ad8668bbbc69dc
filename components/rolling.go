package components

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/machineupdate"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// errInterrupted is the reason why a healthy node is not changed.
var errInterrupted = errors.New("the run was interrupted: run up again to go on")

// rollout takes the nodes of one cluster through their updates a few at a time (F4, F5): an update of a machine or of a
// configuration returns before the reboot that it causes is over. Its lane is for updates only, so creation stays parallel,
// and there are no hooks on deletion, which would need the program to destroy a stack.
type rollout struct {
	ctx           *pulumi.Context
	interrupted   <-chan struct{}
	health        func() (nodeops.Health, error)
	lane          func() (*rolling.Lane, error)
	bootTimeout   time.Duration
	changing      *sync.Map // URN of the resource that is being updated, by the name of its node
	missedReboots missedReboots
	recreation    recreation
	snapshot      etcdSnapshot
	canary        *canary
	pulling       chan struct{}        // holds one element while a node pulls the image of its upgrade
	kubernetes    string               // the version that the configurations ask for
	unread        func(machine string) // of [TalosClusterArgs]
	stands        bool                 // of [TalosClusterArgs]

	upgradeKubernetes func(context.Context, KubernetesUpgrade) error
}

// newRollout returns a rollout whose lane is made at the first update, when the credentials for the cluster are known.
func newRollout(ctx *pulumi.Context, a TalosClusterArgs, talosconfig pulumi.StringOutput) *rollout {
	health := sync.OnceValues(func() (nodeops.Health, error) {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), talosconfig)
		if err != nil {
			return nodeops.Health{}, fmt.Errorf("the cluster's credentials are not there (%w): mend what failed before, then run up again", err)
		}
		text, _ := result.Value.(string) // known in an update
		_, err = nodeops.Endpoints([]byte(text))
		return healthOf(ctx, a, []byte(text)), err
	})
	r := &rollout{
		ctx: ctx, interrupted: a.Interrupted, health: health, bootTimeout: a.BootTimeout, changing: &sync.Map{},
		missedReboots: newMissedReboots(a), recreation: newRecreation(a), snapshot: etcdSnapshot{keep: a.Snapshot}, canary: newCanary(a, ctx.Parallel()), pulling: make(chan struct{}, 1), kubernetes: a.KubernetesVersion, unread: a.Unread, stands: a.Stands,
		upgradeKubernetes: a.UpgradeKubernetes,
	}
	if r.upgradeKubernetes == nil {
		r.upgradeKubernetes = func(ctx context.Context, upgrade KubernetesUpgrade) error {
			return UpgradeKubernetesByTool(ctx, upgrade, "", nil)
		}
	}
	r.lane = sync.OnceValues(func() (*rolling.Lane, error) {
		cluster, err := health()
		if err != nil {
			return nil, err
		}
		return rolling.NewLane(cluster, rolling.Options{MaxUnavailable: a.MaxUnavailable, MinReady: a.MinReady, Recovery: a.RecoveryTimeout, Tell: r.reportNode}), nil
	})
	return r
}

// healthOf returns the checks of the cluster's nodes, which also drain them.
func healthOf(ctx *pulumi.Context, a TalosClusterArgs, talosconfig []byte) nodeops.Health {
	health := nodeops.Health{
		Talosconfig: talosconfig, DrainTimeout: a.DrainTimeout, DeleteHeldBack: a.DeleteHeldBack,
		Say: func(format string, args ...any) {
			// A run that no longer accepts messages ends with an error of its own.
			_ = ctx.Log.Info(fmt.Sprintf(format, args...), nil)
		},
	}
	vmids := map[string]int{}
	for _, m := range a.Machines {
		health.Nodes, vmids[m.Name] = append(health.Nodes, m.rollingNode()), m.VMID
	}
	if a.Runs != nil {
		health.Runs = func(ctx context.Context, node rolling.Node) (bool, error) { return a.Runs(ctx, vmids[node.Name]) }
	}
	return health
}

// hooks returns the hooks around each update of a machine's VM and of its configuration, next.
func (r *rollout) hooks(name string, m Machine, next *nextConfiguration) (*pulumi.ResourceHookBinding, error) {
	if r.ctx.RunningWithMocks() {
		// The SDK's mocks panic when a hook is registered (sdk/v3 v3.254.0, mocks.go), in the tests of our users too.
		return &pulumi.ResourceHookBinding{}, nil
	}
	node := m.rollingNode()
	before, err := r.lossHook(name, node)
	if err != nil {
		return nil, err
	}
	if r.unread != nil {
		note, err := r.ctx.RegisterResourceHook(name+"-note", r.note(node), &pulumi.ResourceHookOptions{OnDryRun: true})
		if err != nil {
			return nil, err
		}
		before = append(before, note)
	}
	enter, err := r.ctx.RegisterResourceHook(name+"-enter", r.enter(node, m.VMID, next), nil)
	if err != nil {
		return nil, err
	}
	leave, err := r.ctx.RegisterResourceHook(name+"-leave", r.leave(node), nil)
	if err != nil {
		return nil, err
	}
	abandon, err := r.ctx.RegisterErrorHook(name+"-abandon", r.abandon(node))
	if err != nil {
		return nil, err
	}
	boots, err := r.ctx.RegisterResourceHook(name+"-boots", r.boots(node, m.VMID, r.bootTimeout), nil)
	if err != nil {
		return nil, err
	}
	return &pulumi.ResourceHookBinding{
		BeforeCreate: []*pulumi.ResourceHook{boots},
		BeforeUpdate: append(before, enter),
		AfterUpdate:  []*pulumi.ResourceHook{leave},
		OnError:      []*pulumi.ErrorHook{abandon},
	}, nil
}

// enter waits until the node may be changed. It fails the update before its first call, so the machine stays as it is.
func (r *rollout) enter(node rolling.Node, vmid int, next *nextConfiguration) pulumi.ResourceHookFunction {
	return func(args *pulumi.ResourceHookArgs) error {
		if r.isNote(args) {
			return nil
		}
		if err := machineupdate.CheckPlugged(args.OldInputs, args.NewInputs); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
		lane, err := r.lane()
		if err != nil {
			return err
		}
		r.changing.Store(node.Name, args.URN)
		ctx, cancel := r.untilInterrupted()
		defer cancel()
		if isRecreated(args) {
			if err := r.removeFormer(ctx, node); err != nil {
				return err
			}
		}
		switchesOn := args.Type == token.VirtualMachine && machineupdate.SwitchesOn(args.OldInputs.Mappable(), args.NewInputs.Mappable())
		change := rolling.Change{
			Node:          node,
			Configuration: appliedConfiguration(args.NewInputs),
			Reboots:       args.Type == token.VirtualMachine && machineupdate.Reboots(args.OldInputs, args.NewInputs),
			Adds:          switchesOn || isRecreated(args) && !node.ControlPlane,
			Joins:         isRecreated(args) && node.ControlPlane, // the members of etcd change one by one
		}
		mayMiss := switchesOn && change.Reboots
		if mayMiss {
			if err := r.awaitControlPlane(ctx, node); err != nil {
				return err
			}
		}
		if err := lane.Enter(ctx, change); err != nil {
			return err
		}
		if err := r.snapshotBefore(ctx, change); err != nil {
			return errors.Join(err, lane.Decline(ctx, node))
		}
		r.reportNode(node, "its change goes on")
		if mayMiss {
			r.repeatReboot(node, vmid)
		}
		if change.Reboots {
			r.stage(ctx, node, next)
		}
		if change.Reboots && hasAgent(args.OldInputs) {
			return r.stopAgent(ctx, node)
		}
		return nil
	}
}

// snapshotBefore keeps a snapshot of etcd before the change of a control plane. A control plane that is added is changed without one: it may be the
// member that etcd lacks.
func (r *rollout) snapshotBefore(ctx context.Context, change rolling.Change) error {
	health, err := r.health()
	if err != nil || change.Adds || health.IsOff(ctx, change.Node) {
		return err
	}
	return r.snapshot.before(ctx, change.Node, health, snapshotWait)
}

// isNote reports whether an update does not affect the node. Such an update needs no place in the lane, and is made even while
// another node is down.
func (r *rollout) isNote(args *pulumi.ResourceHookArgs) bool {
	if args.Type == token.VirtualMachine {
		return machineupdate.IsNote(args.OldInputs, args.NewInputs)
	}
	return !isRecreated(args) && changeNothingAtOnce(appliedConfiguration(args.OldInputs), appliedConfiguration(args.NewInputs), r.kubernetes)
}

// note reports a configuration whose change the node does not read.
func (r *rollout) note(node rolling.Node) pulumi.ResourceHookFunction {
	return func(args *pulumi.ResourceHookArgs) error {
		if string(args.Type) == token.Configuration && r.isNote(args) {
			r.unread(node.Name)
		}
		return nil
	}
}

// untilInterrupted returns a context that ends with an interrupt or with the program. cancel releases its resources.
func (r *rollout) untilInterrupted() (ctx context.Context, cancel func()) {
	ctx, interrupt := context.WithCancelCause(r.ctx.Context())
	go func() {
		select {
		case <-r.interrupted:
			interrupt(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { interrupt(nil) }
}

// leave fails the run if the node does not work again after its update; the update stays in the state.
func (r *rollout) leave(node rolling.Node) pulumi.ResourceHookFunction {
	return func(args *pulumi.ResourceHookArgs) error {
		if r.isNote(args) {
			return nil
		}
		lane, err := r.lane()
		if err != nil {
			return err
		}
		r.missedReboots.end(node)
		ctx, cancel := r.untilInterrupted()
		defer cancel()
		return lane.Leave(ctx, node)
	}
}

// abandon gives up a node whose update failed. The engine also calls it after failed creations and deletions, which have no
// place in the lane; it ignores those.
func (r *rollout) abandon(node rolling.Node) pulumi.ErrorHookFunction {
	return func(args *pulumi.ErrorHookArgs) (again bool, err error) {
		if args.FailedOperation != "update" {
			return false, nil
		}
		r.missedReboots.end(node)
		return false, r.giveUp(node)
	}
}

// giveUp closes the lane after the failed change of a node, and lets a node that still runs take pods again. A node that stays
// cordoned is a warning: the error of a hook would take the place of the one that the change failed with (pulumi pkg/v3 v3.254.0,
// resource/deploy/retries.go).
func (r *rollout) giveUp(node rolling.Node) error {
	lane, err := r.lane()
	if err != nil {
		return err
	}
	health, err := r.health()
	if err != nil {
		return err
	}
	if stays := lane.Fail(r.ctx.Context(), node, health.Running(node)); stays != nil {
		return r.ctx.Log.Warn(stays.Error(), nil)
	}
	return nil
}

func (m Machine) rollingNode() rolling.Node {
	return rolling.Node{Name: m.Name, Address: m.Addresses[0].Addr(), ControlPlane: m.Role == RoleControlPlane}
}
