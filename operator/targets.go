package operator

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// counted counts the steps of a preview that are of the targets; without targets it returns the counts of all. The targets cannot be
// passed to the preview itself: it fails at the first target that is not in the state, because it refreshes the targets before it knows
// which ones it will create (pulumi pkg/v3 v3.254.0, resource/deploy/deployment_executor.go, refresh).
func counted(targets []string, seen []apitype.EngineEvent, changes map[apitype.OpType]int) map[apitype.OpType]int {
	if len(targets) == 0 {
		return changes
	}
	counted := map[apitype.OpType]int{}
	for _, event := range seen {
		if pre := event.ResourcePreEvent; pre != nil && slices.Contains(targets, pre.Metadata.URN) {
			counted[pre.Metadata.Op]++
		}
	}
	return counted
}

// scope returns the targets and exclusions for the engine if the cluster's API is silent. The CLI accepts only one of the two
// (pulumi pkg/v3 v3.254.0, cmd/pulumi/operations/up.go).
func scope(targets []string, silent bool) (kept, excluded []string) {
	switch {
	case !silent:
		return targets, nil
	case len(targets) == 0:
		return nil, []string{inCluster}
	default:
		return slices.DeleteFunc(slices.Clone(targets), func(urn string) bool {
			return strings.HasPrefix(string(resource.URN(urn).Type()), "kubernetes:")
		}), nil
	}
}

// onTargets runs the engine on targets. If some targets are not in the state, it refreshes the others in a run of their own first,
// for the reason given at [counted].
func (s *session) onTargets(ctx context.Context, targets []string, work func() error) error {
	if len(targets) == 0 || !s.refresh {
		return work()
	}
	exported, err := s.state.Seen(ctx)
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
		if _, err := s.stack.Refresh(ctx, optrefresh.Target(known), optrefresh.ProgressStreams(io.Discard), optrefresh.SuppressOutputs()); err != nil {
			return sentenceOf(err)
		}
	}
	workspace := s.stack.Workspace()
	workspace.SetEnvVar(optionRefresh, "false")
	defer workspace.SetEnvVar(optionRefresh, "true")
	return work()
}
