package components

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"golang.org/x/sync/semaphore"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// recreation is what the hooks need to know about the control planes when machines were deleted on the host and created again.
type recreation struct {
	// etcd lets one machine at a time change the members of etcd.
	etcd *semaphore.Weighted
	// alone is whether there is only one control plane.
	alone bool
	// allowed are the control planes that may be created again although the data of etcd is lost.
	allowed []string
}

func newRecreation(a TalosClusterArgs) recreation {
	return recreation{etcd: semaphore.NewWeighted(1), alone: len(a.controlPlaneEndpoints()) == 1, allowed: a.AllowReplace}
}

// isRecreated reports whether a configuration is updated because its machine is not the one that it was applied to.
func isRecreated(args *pulumi.ResourceHookArgs) bool {
	before, isKnown := birthIn(args.OldInputs)
	after, isKnownNow := birthIn(args.NewInputs)
	return string(args.Type) == token.Configuration && isKnown && isKnownNow && before != after
}

// lossHook refuses to configure the only control plane if its machine was created again: the cluster was lost with the former
// machine, which the user may want to restore from a backup. It runs in a preview too, so `pulumi up` ends before it changes
// anything.
func (r *rollout) lossHook(name string, node rolling.Node) ([]*pulumi.ResourceHook, error) {
	if !node.ControlPlane || !r.recreation.alone {
		return nil, nil
	}
	hook, err := r.ctx.RegisterResourceHook(name+"-loss", func(args *pulumi.ResourceHookArgs) error {
		if isRecreated(args) && !slices.Contains(r.recreation.allowed, node.Name) {
			return lostError(node)
		}
		return nil
	}, &pulumi.ResourceHookOptions{OnDryRun: true})
	return []*pulumi.ResourceHook{hook}, err
}

// lostError returns the error that names what was lost with the disks of the control planes, and what to do.
func lostError(node rolling.Node) error {
	return fmt.Errorf("the machine of %[1]s was deleted on the host, and no other control plane has the data of etcd: the cluster is lost with it; "+
		"bring etcd back from a snapshot with `em-infra etcd restore`, restore its VM from a backup, or make the cluster anew with `em-infra up --allow-replace %[1]s`", node.Name)
}

// removeFormer removes the former etcd member and Node of a machine that was created again, before the machine is configured.
func (r *rollout) removeFormer(ctx context.Context, node rolling.Node) error {
	health, err := r.health()
	if err != nil {
		return err
	}
	if r.recreation.etcd.Acquire(ctx, 1) != nil {
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	defer r.recreation.etcd.Release(1)
	err = health.ForgetFormer(ctx, node)
	if !errors.Is(err, nodeops.ErrEtcdLost) {
		return err
	}
	if !slices.Contains(r.recreation.allowed, node.Name) {
		return lostError(node)
	}
	return nil
}

// restartKubelets lets the other nodes register again in a cluster that was bootstrapped again with its former names and keys.
func (r *rollout) restartKubelets(name string) (pulumi.ResourceOption, error) {
	if len(r.recreation.allowed) == 0 || r.ctx.RunningWithMocks() {
		return pulumi.Composite(), nil
	}
	hook, err := r.ctx.RegisterResourceHook(name+"-revive", func(*pulumi.ResourceHookArgs) error {
		health, err := r.health()
		if err != nil {
			return err
		}
		return health.RestartKubelets(r.ctx.Context(), r.recreation.allowed)
	}, nil)
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{AfterCreate: []*pulumi.ResourceHook{hook}}), err
}
