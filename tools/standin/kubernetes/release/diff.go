package release

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/difference"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// replaceOn are the inputs that cannot change in the life of a release.
var replaceOn = []resource.PropertyPath{{"name"}, {"namespace"}}

// Diff compares the new inputs with the state, limited to the properties of the inputs. The state contains what Helm had deployed
// when it was last read. So a value that was changed outside of the program is a change.
func (r *Releases) Diff(_ context.Context, request operation.Diff) (operation.Difference, error) {
	old, state, inputs := toPlain(withZeros(inputsOf(request.State))), toPlain(withZeros(request.State)), toPlain(request.Inputs)
	for _, name := range []string{"resourceNames", "checksum"} { // inputs of older versions
		delete(old, name)
	}
	if slices.ContainsFunc(request.Ignored, func(path resource.PropertyPath) bool { return path.String() == "version" }) {
		inputs["version"] = state["version"]
	}
	shape := difference.Union(old, inputs)
	before, _ := difference.Prune(state, shape).(map[string]any)
	changes := difference.Compare(before, inputs, replaceOn)
	changes = slices.DeleteFunc(changes, func(change operation.Change) bool {
		return slices.ContainsFunc(request.Ignored, func(path resource.PropertyPath) bool { return path.Contains(change.Path) })
	})
	return operation.Difference{Changes: changes}, nil
}

func toPlain(given resource.PropertyMap) map[string]any {
	plain, _ := properties.Whole(properties.Plain(given)).(map[string]any)
	return plain
}
