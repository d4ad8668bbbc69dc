package components

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"golang.org/x/sync/semaphore"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// typeConfiguration is what a machine configuration is applied by.
const typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"

// returning is what has to be known of the control planes when machines of the cluster are made anew behind the state's
// back.
type returning struct {
	// turn lets one machine at a time change the members of etcd.
	turn *semaphore.Weighted
	// alone says that there is one control plane only.
	alone bool
	// allowed are control planes that may be made anew although the cluster's etcd is lost.
	allowed []string
}

func newReturning(a TalosClusterArgs) returning {
	return returning{turn: semaphore.NewWeighted(1), alone: len(a.controlPlaneEndpoints()) == 1, allowed: a.AllowReplace}
}

// isMadeAnew reports whether a configuration is updated because its machine is another one than that it was applied to.
func isMadeAnew(args *pulumi.ResourceHookArgs) bool {
	before, isKnown := birthIn(args.OldInputs)
	after, isSaid := birthIn(args.NewInputs)
	return string(args.Type) == typeConfiguration && isKnown && isSaid && before != after
}

// lossHook refuses to configure the only control plane when its machine was made anew: the cluster was lost with the one
// before, and whoever has a backup of that would rather restore it. It runs in a preview too, so that `pulumi up` ends
// before it has touched anything.
func (r *rollout) lossHook(name string, node rolling.Node) ([]*pulumi.ResourceHook, error) {
	if !node.ControlPlane || !r.returning.alone {
		return nil, nil
	}
	hook, err := r.ctx.RegisterResourceHook(name+"-loss", func(args *pulumi.ResourceHookArgs) error {
		if isMadeAnew(args) && !slices.Contains(r.returning.allowed, node.Name) {
			return lostError(node)
		}
		return nil
	}, &pulumi.ResourceHookOptions{OnDryRun: true})
	return []*pulumi.ResourceHook{hook}, err
}

// lostError says what is lost with the control planes' disks and what to do.
func lostError(node rolling.Node) error {
	return fmt.Errorf("the machine of %[1]s was deleted on the host, and no other control plane has the data of etcd: the cluster is lost with it; "+
		"restore its VM from a backup, or make the cluster anew with `em-infra up --allow-replace %[1]s`", node.Name)
}

// takeBack makes room in the cluster for a machine that was made anew, before it is configured.
func (r *rollout) takeBack(ctx context.Context, node rolling.Node) error {
	health, err := r.health()
	if err != nil {
		return err
	}
	if r.returning.turn.Acquire(ctx, 1) != nil {
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	defer r.returning.turn.Release(1)
	err = health.ForgetFormer(ctx, node)
	if !errors.Is(err, nodeops.ErrEtcdLost) {
		return err
	}
	if !slices.Contains(r.returning.allowed, node.Name) {
		return lostError(node)
	}
	return nil
}

// revival has the other nodes register in a cluster that was bootstrapped anew under the names and keys that it had.
func (r *rollout) revival(name string) (pulumi.ResourceOption, error) {
	if len(r.returning.allowed) == 0 || r.ctx.RunningWithMocks() {
		return pulumi.Composite(), nil
	}
	hook, err := r.ctx.RegisterResourceHook(name+"-revive", func(*pulumi.ResourceHookArgs) error {
		health, err := r.health()
		if err != nil {
			return err
		}
		return health.RestartKubelets(r.ctx.Context(), r.returning.allowed)
	}, nil)
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{AfterCreate: []*pulumi.ResourceHook{hook}}), err
}
