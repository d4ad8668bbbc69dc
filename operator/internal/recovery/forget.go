package recovery

import (
	"maps"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Forget removes a resource and all references to it from a deployment: the engine refuses a state with references to missing
// resources (pulumi pkg/v3 v3.254.0, resource/deploy/snapshot.go, VerifyIntegrity). The next run adds the dependencies again.
func Forget(deployment *apitype.DeploymentV3, urn resource.URN) {
	deployment.Resources = slices.DeleteFunc(slices.Clone(deployment.Resources), func(r apitype.ResourceV3) bool {
		return r.URN == urn && !r.Delete
	})
	for i := range deployment.Resources {
		r := &deployment.Resources[i]
		r.Dependencies = without(r.Dependencies, urn)
		r.ReplaceWith = without(r.ReplaceWith, urn)
		if r.DeletedWith == urn {
			r.DeletedWith = ""
		}
		r.PropertyDependencies = maps.Clone(r.PropertyDependencies)
		for property, dependencies := range r.PropertyDependencies {
			r.PropertyDependencies[property] = without(dependencies, urn)
		}
	}
}

// remember records a machine whose creation was begun. Only in the place of one that was deleted for it, it is certainly not the machine of
// an earlier state, and gets a creation time of its own.
func remember(deployment *apitype.DeploymentV3, machine apitype.ResourceV3, now time.Time) {
	deployment.Resources = slices.Clone(deployment.Resources)
	if replacedBy(deployment, machine.URN) >= 0 && machine.Created == nil {
		machine.Created, machine.Modified = &now, &now
	}
	record(deployment, machine)
}

// without returns a list without one of its members. It does not change the list itself.
func without(urns []resource.URN, urn resource.URN) []resource.URN {
	if !slices.Contains(urns, urn) {
		return urns
	}
	return slices.DeleteFunc(slices.Clone(urns), func(other resource.URN) bool { return other == urn })
}
