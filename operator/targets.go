package operator

import (
	"context"
	"io"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
)

// onTargets runs the engine on targets. If some targets are not in the state, it refreshes the others in a run of their own first,
// for the reason given at [github.com/em-infra/em-infra/operator/internal/span.Counted].
func (e *stackEngine) onTargets(ctx context.Context, targets []string, work func() error) error {
	if len(targets) == 0 || !e.refresh {
		return work()
	}
	exported, err := e.state.Seen(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, one := range exported.Deployment.Resources {
		if slices.Contains(targets, string(one.URN)) {
			known = append(known, string(one.URN))
		}
	}
	if len(known) == len(targets) {
		return work()
	}
	if len(known) > 0 {
		if _, err := e.stack.Refresh(ctx, optrefresh.Target(known), optrefresh.ProgressStreams(io.Discard), optrefresh.SuppressOutputs()); err != nil {
			return sentenceOf(err)
		}
	}
	workspace := e.stack.Workspace()
	workspace.SetEnvVar(optionRefresh, "false")
	defer workspace.SetEnvVar(optionRefresh, "true")
	return work()
}
