package span

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// InCluster matches every resource of the Kubernetes provider, but not the provider itself.
const InCluster = "urn:pulumi:**$" + token.OfKubernetes + "**"

// Counted counts the steps of a preview that are of the targets; without targets it returns the counts of all. The targets cannot be
// passed to the preview itself: it fails at the first target that is not in the state, because it refreshes the targets before it knows
// which ones it will create (pulumi pkg/v3 v3.254.0, resource/deploy/deployment_executor.go, refresh).
func Counted(targets []string, seen []apitype.EngineEvent, changes map[apitype.OpType]int) map[apitype.OpType]int {
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

// Scope returns the targets and exclusions for the engine if the cluster's API is silent. The CLI accepts only one of the two
// (pulumi pkg/v3 v3.254.0, cmd/pulumi/operations/up.go).
func Scope(targets []string, silent bool) (kept, excluded []string) {
	switch {
	case !silent:
		return targets, nil
	case len(targets) == 0:
		return nil, []string{InCluster}
	default:
		return slices.DeleteFunc(slices.Clone(targets), func(urn string) bool {
			return token.IsKubernetes(string(resource.URN(urn).Type()))
		}), nil
	}
}

// OwnerOf returns the node that a resource belongs to by its name; empty for none. The name of a node can be the beginning of
// another one's.
func OwnerOf(name string, nodes []string) string {
	owner := ""
	for _, node := range nodes {
		if (name == node || strings.HasPrefix(name, node+"-")) && len(node) > len(owner) {
			owner = node
		}
	}
	return owner
}
