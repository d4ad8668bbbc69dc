package span

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// WithoutTorn returns the targets without those that the program removes while something stays that depends on them: the engine refuses
// these, after everything else (pulumi pkg/v3 v3.254.0, resource/deploy/step_generator.go, getTargetDependents). They go in the run that
// removes the rest.
func WithoutTorn(seen []apitype.EngineEvent, targets []string, present []apitype.ResourceV3) []string {
	gone, kept := removals(seen), slices.Clone(targets)
	for {
		before := len(kept)
		for _, one := range present {
			if slices.Contains(kept, string(one.URN)) {
				continue
			}
			needed := dependencies(one)
			kept = slices.DeleteFunc(kept, func(urn string) bool { return gone[urn] && slices.Contains(needed, resource.URN(urn)) })
		}
		if len(kept) == before {
			return kept
		}
	}
}

// Torn returns a resource that the program removes and a run of targets leaves out, and one that is left out, too, is kept, and depends on
// it; "" if there is none. The engine would write a state that contradicts itself: the second stays where it was, and the first, which the
// program registers no more, goes to the end.
func Torn(seen []apitype.EngineEvent, targets []string, present []apitype.ResourceV3) (removed, keeps string) {
	gone := removals(seen)
	for _, one := range present {
		if gone[string(one.URN)] || slices.Contains(targets, string(one.URN)) {
			continue
		}
		for _, needed := range dependencies(one) {
			if gone[string(needed)] && !slices.Contains(targets, string(needed)) {
				return needed.Name(), one.URN.Name()
			}
		}
	}
	return "", ""
}

// removals returns the URNs of what the program removes.
func removals(seen []apitype.EngineEvent) map[string]bool {
	gone := map[string]bool{}
	for _, event := range seen {
		if pre := event.ResourcePreEvent; pre != nil && pre.Metadata.Op == apitype.OpDelete {
			gone[pre.Metadata.URN] = true
		}
	}
	return gone
}

// dependencies returns what a resource in a state depends on.
func dependencies(one apitype.ResourceV3) []resource.URN {
	needed := slices.Clone(one.Dependencies)
	for _, of := range one.PropertyDependencies {
		needed = append(needed, of...)
	}
	needed = append(needed, one.Parent, one.DeletedWith)
	slices.Sort(needed)
	return slices.Compact(needed)
}
