package birth

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Rename gives a node and all its resources another name in a state. It does not change the inputs of the node's membership, so
// that the deletion of the membership removes the node under its former name. An alias does not work for a replacement. The engine
// looks up by the new name which resources are replaced with a machine, and finds none under the former name. It then deletes the
// membership last, when the new machine has its address (pulumi pkg/v3 v3.254.0, step_generator.go, findResourcesReplacedWith).
func Rename(deployment *apitype.DeploymentV3, former, name string) {
	renamed := map[resource.URN]resource.URN{}
	for _, r := range deployment.Resources {
		_, below := renamed[r.Parent]
		own := (r.Type == token.TalosNode || r.Type == token.GPUWorker) && r.URN.Name() == former
		membership := r.Type == token.Command && r.URN.Name() == former+suffixMembership
		if below || own || membership {
			renamed[r.URN] = r.URN.Rename(name + strings.TrimPrefix(r.URN.Name(), former))
		}
	}
	to := func(urn resource.URN) resource.URN {
		if other, is := renamed[urn]; is {
			return other
		}
		return urn
	}
	for i := range deployment.Resources {
		renameIn(&deployment.Resources[i], to)
	}
	for i := range deployment.PendingOperations {
		renameIn(&deployment.PendingOperations[i].Resource, to)
	}
}

// renameIn replaces a resource's own URN and all URNs that it refers to.
func renameIn(r *apitype.ResourceV3, to func(resource.URN) resource.URN) {
	all := func(urns []resource.URN) []resource.URN {
		urns = slices.Clone(urns)
		for i, urn := range urns {
			urns[i] = to(urn)
		}
		return urns
	}
	r.URN, r.Parent, r.DeletedWith = to(r.URN), to(r.Parent), to(r.DeletedWith)
	r.Dependencies, r.ReplaceWith = all(r.Dependencies), all(r.ReplaceWith)
	dependencies := make(map[resource.PropertyKey][]resource.URN, len(r.PropertyDependencies))
	for property, urns := range r.PropertyDependencies {
		dependencies[property] = all(urns)
	}
	if r.PropertyDependencies != nil {
		r.PropertyDependencies = dependencies
	}
}
