package recovery

import (
	"maps"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// forget takes a resource out of a deployment, with what others say of it: the engine refuses a state in which a resource
// refers to one that is missing (pulumi pkg/v3 v3.254.0, resource/deploy/snapshot.go, VerifyIntegrity). The next run
// says again what depends on what.
func forget(deployment *apitype.DeploymentV3, urn resource.URN) {
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

// remember puts a machine into a deployment whose creation was begun: in the place of the one that the engine has deleted for
// it, which the state keeps until then and on which others depend, else behind all others. Only in the first case it is certain
// that it is not the machine of an earlier state: it has a time of its own then.
func remember(deployment *apitype.DeploymentV3, machine apitype.ResourceV3, now time.Time) {
	deployment.Resources = slices.Clone(deployment.Resources)
	replaced := slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool {
		return r.URN == machine.URN && r.PendingReplacement
	})
	if replaced < 0 {
		deployment.Resources = append(deployment.Resources, machine)
		return
	}
	if machine.Created == nil {
		machine.Created, machine.Modified = &now, &now
	}
	deployment.Resources[replaced] = machine
}

// without is a list without one of its members; the list itself stays as it is.
func without(urns []resource.URN, urn resource.URN) []resource.URN {
	if !slices.Contains(urns, urn) {
		return urns
	}
	return slices.DeleteFunc(slices.Clone(urns), func(other resource.URN) bool { return other == urn })
}
