package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/stacks"
)

var errUntilAndOnly = errors.New("--until and --only exclude each other: give one of them")

var errOnlyNodeInAllPhases = errors.New("--only-node excludes --until and --only: give one of them")

var errPlanOfAPart = errors.New("--plan excludes --until, --only and --only-node, since a preview plans all phases of all nodes: leave them out")

// span returns the phases that the options choose; by default all.
func (o UpOptions) span() (span.Span, error) {
	switch {
	case o.Plan != "" && (o.Until != 0 || o.Only != 0 || o.OnlyNode != ""):
		return span.Span{}, errPlanOfAPart
	case o.Until != 0 && o.Only != 0:
		return span.Span{}, errUntilAndOnly
	case o.OnlyNode != "" && (o.Until != 0 || o.Only != 0):
		return span.Span{}, errOnlyNodeInAllPhases
	case o.OnlyNode != "":
		return span.Span{Last: phase.Verify, Node: o.OnlyNode}, nil
	case o.Only != 0:
		return span.Span{Last: o.Only, Only: true}, nil
	case o.Until != 0:
		return span.Span{Last: o.Until}, nil
	default:
		return span.Span{Last: phase.Verify, Plan: o.Plan}, nil
	}
}

// Narrow limits the engine to the span. If no resource of a later phase exists, the program registers none: then nothing can be deleted and nothing
// waits for missing resources. Otherwise the program registers all of them, and Narrow returns the targets of the run; nil if none are needed.
func (c stackChanges) Narrow(ctx context.Context, p span.Span) (targets []string, err error) {
	switch {
	case p.Node != "":
		return c.narrowToNode(ctx, p.Node)
	case p.Last == phase.Verify:
		return nil, nil
	}
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	reached := span.Latest(exported.Deployment.Resources)
	if p.Only && reached < p.Last-1 {
		return nil, refused(fmt.Errorf("phase %s needs %s, which was not run yet: run `em-infra up %s --until %s` first", p.Last, p.Last-1, c.place.Stack, p.Last-1))
	}
	if reached <= p.Last {
		c.setProgram(p.Last)
	}
	if reached <= p.Last && !p.Only {
		return nil, nil
	}
	_, seen, err := c.preview(ctx)
	if err != nil {
		return nil, err
	}
	if missing, of := span.FirstMissing(seen, p.Last); p.Only && missing != "" {
		return nil, refused(fmt.Errorf("phase %s needs %s, of which %s is missing: run `em-infra up %s --until %s` first", p.Last, of, missing, c.place.Stack, of))
	}
	return c.untorn(ctx, seen, p.Targets(seen))
}

// untorn returns the targets, and refuses those with which the engine would fail at the end of the run, or leave a state that contradicts
// itself.
func (c stackChanges) untorn(ctx context.Context, seen []apitype.EngineEvent, targets []string) ([]string, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	if removed := span.Torn(seen, targets, exported.Deployment.Resources); removed != "" {
		return nil, refused(fmt.Errorf("the plan removes %s, which this run would leave out: run up with neither --until, --only nor --only-node, "+
			"or let one run remove it and change the rest afterwards", removed))
	}
	return targets, nil
}

// setProgram sets the last phase of the program.
func (e *stackEngine) setProgram(until phase.Phase) {
	e.program.Until = until
	e.stack.Workspace().SetProgram(stacks.Program(e.program))
}
