package span

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Torn returns a resource that the program removes, and that a run of targets cannot leave out; "" if there is none. The engine has two
// reasons (pulumi pkg/v3 v3.254.0):
//   - it depends on a target, if only as a child: the engine refuses the run, after everything else
//     (resource/deploy/step_generator.go, determineAllowedResourcesToDeleteFromTargets);
//   - something that is kept depends on it, and is no target either: the engine writes a state that contradicts itself, since what is kept
//     stays where it was in the state, and the removed resource goes to the end.
func Torn(seen []apitype.EngineEvent, targets []string, present []apitype.ResourceV3) (removed string) {
	gone := removals(seen)
	isLeftOut := func(urn resource.URN) bool { return gone[string(urn)] && !slices.Contains(targets, string(urn)) }
	tied := map[resource.URN]bool{} // to a target; what a resource depends on is before it in a state
	for _, one := range present {
		isTarget := slices.Contains(targets, string(one.URN))
		needed := dependencies(one)
		tied[one.URN] = isTarget || slices.ContainsFunc(needed, func(urn resource.URN) bool { return tied[urn] })
		if isLeftOut(one.URN) && tied[one.URN] {
			return one.URN.Name()
		}
		if at := slices.IndexFunc(needed, isLeftOut); at >= 0 && !isTarget && !gone[string(one.URN)] {
			return needed[at].Name()
		}
	}
	return ""
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
