package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/stacks"
)

// span is the range of phases of a run, and its nodes.
type span struct {
	last phase.Phase
	only bool   // only the last phase
	node string // only this node, in all phases; empty for all
	plan string // the fingerprint of the only plan that is carried out; empty for any
}

// wholeSpan are all phases of all nodes.
var wholeSpan = span{last: phase.Verify}

var errUntilAndOnly = errors.New("--until and --only exclude each other: give one of them")

var errOnlyNodeInAllPhases = errors.New("--only-node excludes --until and --only: give one of them")

var errPlanOfAPart = errors.New("--plan excludes --until, --only and --only-node, since a preview plans all phases of all nodes: leave them out")

// span returns the phases that the options choose; by default all.
func (o UpOptions) span() (span, error) {
	switch {
	case o.Plan != "" && (o.Until != 0 || o.Only != 0 || o.OnlyNode != ""):
		return span{}, errPlanOfAPart
	case o.Until != 0 && o.Only != 0:
		return span{}, errUntilAndOnly
	case o.OnlyNode != "" && (o.Until != 0 || o.Only != 0):
		return span{}, errOnlyNodeInAllPhases
	case o.OnlyNode != "":
		return span{last: phase.Verify, node: o.OnlyNode}, nil
	case o.Only != 0:
		return span{last: o.Only, only: true}, nil
	case o.Until != 0:
		return span{last: o.Until}, nil
	default:
		return span{last: phase.Verify, plan: o.Plan}, nil
	}
}

// String returns the flag that selects the span; empty for all phases.
func (p span) String() string {
	switch {
	case p.node != "":
		return " --only-node " + p.node
	case p.only:
		return " --only " + p.last.String()
	case p.last != phase.Verify:
		return " --until " + p.last.String()
	default:
		return ""
	}
}

// command returns the span's name in the names of artifacts.
func (p span) command() string {
	return strings.NewReplacer(" --", "-", " ", "-").Replace("up" + p.String())
}

// work reports whether the engine has anything to do: the verify phase only reads.
func (p span) work() bool { return p.last != phase.Verify || !p.only }

// verifies reports whether the run verifies the cluster at its end.
func (p span) verifies() bool { return p.last == phase.Verify }

// covers reports whether a phase is part of the span. Resources without a phase are part of each span.
func (p span) covers(of phase.Phase) bool {
	if p.only {
		return of == p.last
	}
	return of <= p.last
}

// narrow limits the engine to the span. If no resource of a later phase exists, the program registers none: then nothing can be
// deleted and nothing waits for missing resources. Otherwise the program registers all of them, and narrow returns the targets of
// the run; nil if none are needed.
func (s *session) narrow(ctx context.Context, p span) (targets []string, err error) {
	switch {
	case p.node != "":
		return s.narrowToNode(ctx, p.node)
	case p.last == phase.Verify:
		return nil, nil
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	reached := latestPhase(exported.Deployment.Resources)
	if p.only && reached < p.last-1 {
		return nil, refused(fmt.Errorf("phase %s needs %s, which was not run yet: run `em-infra up %s --until %s` first", p.last, p.last-1, s.place.Stack, p.last-1))
	}
	if reached <= p.last {
		s.setProgram(p.last)
	}
	if reached <= p.last && !p.only {
		return nil, nil
	}
	_, seen, err := s.preview(ctx)
	if err != nil {
		return nil, err
	}
	if missing, of := firstMissing(seen, p.last); p.only && missing != "" {
		return nil, refused(fmt.Errorf("phase %s needs %s, of which %s is missing: run `em-infra up %s --until %s` first", p.last, of, missing, s.place.Stack, of))
	}
	return targetsOf(seen, p), nil
}

// firstMissing returns the first resource of an earlier phase that a preview would create, and its phase; "" if none is missing.
func firstMissing(seen []apitype.EngineEvent, before phase.Phase) (name string, of phase.Phase) {
	for _, event := range seen {
		if event.ResourcePreEvent == nil {
			continue
		}
		step := event.ResourcePreEvent.Metadata
		urn := resource.URN(step.URN)
		if step.Op == apitype.OpCreate && step.New != nil && step.New.Custom && phase.Of(urn) < before {
			return urn.Name(), phase.Of(urn)
		}
	}
	return "", 0
}

// latestPhase returns the latest phase of the resources; 0 for an empty state.
func latestPhase(resources []apitype.ResourceV3) phase.Phase {
	var latest phase.Phase
	for _, one := range resources {
		latest = max(latest, phase.Of(one.URN))
	}
	return latest
}

// setProgram sets the last phase of the program.
func (s *session) setProgram(until phase.Phase) {
	s.program.Until = until
	s.stack.Workspace().SetProgram(stacks.Program(s.program))
}

// targetsOf returns the resources of a preview that are part of the span, with all their parents, sorted.
func targetsOf(seen []apitype.EngineEvent, p span) []string {
	parents := map[string]string{}
	for _, event := range seen {
		if event.ResourcePreEvent == nil {
			continue
		}
		step := event.ResourcePreEvent.Metadata
		parents[step.URN] = ""
		for _, state := range []*apitype.StepEventStateMetadata{step.Old, step.New} {
			if state != nil {
				parents[step.URN] = state.Parent
			}
		}
	}
	var targets []string
	for urn := range parents {
		if !p.covers(phase.Of(resource.URN(urn))) {
			continue
		}
		for ; urn != "" && !slices.Contains(targets, urn); urn = parents[urn] {
			targets = append(targets, urn)
		}
	}
	slices.Sort(targets)
	return targets
}
