package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
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

// onTargets lets the engine work on targets. Those that the state has are read from the host in a run of their own where it
// lacks others, for the reason of [among].
func (s *session) onTargets(ctx context.Context, targets []string, silent bool, work func() error) error {
	if len(targets) == 0 || !s.refresh {
		return work()
	}
	exported, err := s.readState(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, resource := range exported.Deployment.Resources {
		if slices.Contains(targets, string(resource.URN)) {
			known = append(known, string(resource.URN))
		}
	}
	if len(known) == len(targets) {
		return work()
	}
	known = slices.DeleteFunc(known, func(urn string) bool { return silent && strings.Contains(urn, "$kubernetes:") })
	if len(known) > 0 {
		if _, err := s.stack.Refresh(ctx, optrefresh.Target(known), optrefresh.ProgressStreams(io.Discard), optrefresh.SuppressOutputs()); err != nil {
			return said(err)
		}
	}
	workspace := s.stack.Workspace()
	workspace.SetEnvVar(optionRefresh, "false")
	defer workspace.SetEnvVar(optionRefresh, "true")
	return work()
}
