package components

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// defaultBootTimeout is enough for a slow disk and a firmware that trains a GPU's memory window.
const defaultBootTimeout = 5 * time.Minute

// boots returns a hook that waits until Talos on a machine accepts its first configuration. The provider alone would retry silently for ten
// minutes, no matter what answers at the address (siderolabs/terraform-provider-talos v0.10.1, talos_machine_configuration_apply_resource.go,
// Create). The hook recognizes a node of another cluster, or a machine that is off, within seconds. Nodes wait side by side, so creation stays
// parallel.
func (r *rollout) boots(node rolling.Node, vmid int, timeout time.Duration) pulumi.ResourceHookFunction {
	return func(args *pulumi.ResourceHookArgs) error {
		if args.Type != token.Configuration || r.stands {
			return nil
		}
		health, err := r.health()
		if err != nil {
			return err
		}
		ctx, cancel := r.untilInterrupted()
		defer cancel()
		wait := nodeops.Wait{
			Talosconfig: health.Talosconfig, Address: node.Address.String(), Machine: fmt.Sprintf("VM %d", vmid), Limit: timeout,
			Say: func(text string) { r.report(args.URN, text) },
		}
		if health.Runs != nil {
			wait.IsOn = func(ctx context.Context) (bool, error) { return health.Runs(ctx, node) }
		}
		if err := wait.UntilConfigurable(ctx); err != nil {
			return err
		}
		r.report(args.URN, wait.Address+": it takes its configuration (10 min at most)") // the provider's own limit
		return nil
	}
}

// reportNode reports what the update of a node waits for.
func (r *rollout) reportNode(node rolling.Node, what string) {
	if urn, found := r.changing.Load(node.Name); found {
		r.report(urn.(pulumi.URN), what)
	}
}

// report reports what an operation on a resource waits for, as a passing status. Its error is ignored: if the engine no longer
// accepts messages, the run fails by itself.
func (r *rollout) report(urn pulumi.URN, text string) {
	_ = r.ctx.Log.Info(text, &pulumi.LogArgs{Resource: subject{urn: urn.ToURNOutput()}, Ephemeral: true})
}

// subject names a resource whose registration is not complete, for log messages.
type subject struct {
	pulumi.Resource

	urn pulumi.URNOutput
}

// URN implements [pulumi.Resource].
func (s subject) URN() pulumi.URNOutput { return s.urn }
