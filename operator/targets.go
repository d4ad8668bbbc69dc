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

// among keeps what a preview says of targets, and counts it; all of it where there are none. A preview that is given the targets
// itself ends at the first that the state does not have, because it reads the targets from the host before it knows what is to
// be made (pulumi pkg/v3 v3.254.0, resource/deploy/deployment_executor.go, refresh).
func among(targets []string, seen []apitype.EngineEvent, changes map[apitype.OpType]int) ([]apitype.EngineEvent, map[apitype.OpType]int) {
	if len(targets) == 0 {
		return seen, changes
	}
	var kept []apitype.EngineEvent
	counted := map[apitype.OpType]int{}
	for _, event := range seen {
		if pre := event.ResourcePreEvent; pre != nil {
			if !slices.Contains(targets, pre.Metadata.URN) {
				continue
			}
			counted[pre.Metadata.Op]++
		}
		kept = append(kept, event)
	}
	return kept, counted
}

// scope is what the engine is to work on, and what it is to leave out, while what is in the cluster does not answer. The CLI
// takes one of the two only (pulumi pkg/v3 v3.254.0, cmd/pulumi/operations/up.go).
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

// onTargets lets the engine work on targets. Those that the state has are read from the host in a run of their own where it
// lacks others, for the reason of [among].
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
