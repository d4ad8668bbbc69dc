package state

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Namespaces returns the namespaces of Kubernetes in which the state has objects or releases of Helm, sorted.
func Namespaces(deployment apitype.DeploymentV3) []string {
	var found []string
	for _, one := range deployment.Resources {
		if one.Type.Package() != "kubernetes" || one.Delete {
			continue
		}
		for _, path := range []string{"metadata.namespace", "namespace"} {
			if name := propertymap.Text(one.Inputs, path); name != "" {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
