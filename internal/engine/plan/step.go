// Package plan reads the planned operations of the engine from the events of a preview. Pure.
package plan

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Step is the planned operation on one resource.
type Step struct {
	// Op is same, create, update, replace or delete.
	Op apitype.OpType
	// URN of the resource, and of its parent.
	URN, Parent resource.URN
	// Old are the former inputs, nil for a creation; New are the new inputs, nil for a deletion.
	Old, New map[string]any
	// Changed are the paths of the properties that differ, sorted. The values of secrets are not visible.
	Changed []string
	// Failed is true if the last operation on it failed halfway; the engine repeats it even if nothing differs.
	Failed bool
	// ByHand are the paths in a machine configuration that were changed on its node, which the engine cannot see.
	ByHand []string
}

// steps are the relevant operations; the engine reports a replacement as such, and additionally its two halves.
var steps = []apitype.OpType{apitype.OpSame, apitype.OpCreate, apitype.OpUpdate, apitype.OpReplace, apitype.OpDelete}

// Steps returns the steps in the events of a preview, in the order of their URNs: the engine's own order differs between
// previews.
func Steps(events []apitype.EngineEvent) []Step {
	var found []Step
	for _, event := range events {
		if event.ResourcePreEvent == nil || !slices.Contains(steps, event.ResourcePreEvent.Metadata.Op) {
			continue
		}
		found = append(found, stepOf(event.ResourcePreEvent.Metadata))
	}
	slices.SortStableFunc(found, func(a, b Step) int {
		if a.URN != b.URN && a.URN < b.URN {
			return -1
		}
		if a.URN == b.URN {
			return 0
		}
		return 1
	})
	return found
}

// Within returns the steps of a run that is limited to targets: every other resource stays as it is, or is not made. Without targets it
// returns all.
func Within(targets []string, all []Step) []Step {
	if len(targets) == 0 {
		return all
	}
	var within []Step
	for _, s := range all {
		switch {
		case slices.Contains(targets, string(s.URN)):
		case s.Op == apitype.OpCreate:
			continue
		default:
			s = Step{Op: apitype.OpSame, URN: s.URN, Parent: s.Parent, Old: s.Old, New: s.Old}
		}
		within = append(within, s)
	}
	return within
}

func stepOf(m apitype.StepEventMetadata) Step {
	s := Step{Op: m.Op, URN: resource.URN(m.URN), Changed: slices.Sorted(maps.Keys(m.DetailedDiff))}
	if len(s.Changed) == 0 {
		s.Changed = slices.Sorted(slices.Values(m.Diffs))
	}
	if m.Old != nil {
		s.Parent, s.Old, s.Failed = resource.URN(m.Old.Parent), m.Old.Inputs, len(m.Old.InitErrors) > 0
	}
	if m.New != nil {
		s.Parent, s.New = resource.URN(m.New.Parent), m.New.Inputs
	}
	if m.Op == apitype.OpReplace && len(s.Changed) == 0 && s.Old != nil {
		// For a trigger, the engine does not query the provider for the differences.
		s.Changed = Differences("", s.Old, s.New)
	}
	if m.Op == apitype.OpCreate {
		s.Old = nil
	}
	if m.Op == apitype.OpDelete {
		s.New = nil
	}
	return s
}

// Differ records differences that the engine does not see, since the provider does not read these properties: have are their
// real values, nil for an absent one.
func (s *Step) Differ(have map[string]any) {
	if s.Op != apitype.OpSame && s.Op != apitype.OpUpdate {
		return
	}
	s.Op, s.Old = apitype.OpUpdate, maps.Clone(s.Old)
	for path, value := range have {
		s.Old[path] = value
		s.Changed = append(s.Changed, path)
	}
	slices.Sort(s.Changed)
	s.Changed = slices.Compact(s.Changed)
}

// Present returns the new inputs, or the former ones for a deletion.
func (s Step) Present() map[string]any {
	if s.New != nil {
		return s.New
	}
	return s.Old
}
