package span

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/phase"
)

// Targets returns the resources of a preview that are part of the span, with all their parents, sorted.
func (s Span) Targets(seen []apitype.EngineEvent) []string {
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
		if !s.Covers(phase.Of(resource.URN(urn))) {
			continue
		}
		for ; urn != "" && !slices.Contains(targets, urn); urn = parents[urn] {
			targets = append(targets, urn)
		}
	}
	slices.Sort(targets)
	return targets
}

// Latest returns the latest phase of the resources; 0 for an empty state.
func Latest(resources []apitype.ResourceV3) phase.Phase {
	var latest phase.Phase
	for _, one := range resources {
		latest = max(latest, phase.Of(one.URN))
	}
	return latest
}

// FirstMissing returns the first resource of an earlier phase that a preview would create, and its phase; "" if none is missing.
func FirstMissing(seen []apitype.EngineEvent, before phase.Phase) (name string, of phase.Phase) {
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
