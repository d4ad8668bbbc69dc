package state

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// KnownDatasets returns the names of the datasets on TrueNAS with their pools, and of those whose creation has begun, sorted.
func KnownDatasets(deployment apitype.DeploymentV3) []string {
	var known []string
	for dataset := range Current(deployment, token.Dataset) {
		known = append(known, propertymap.Text(dataset.Inputs, "name"))
	}
	for i := range deployment.PendingOperations {
		if begun := &deployment.PendingOperations[i].Resource; begun.Type == token.Dataset {
			known = append(known, propertymap.Text(begun.Inputs, "name"))
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// KindsOnNAS returns the types of what the state has on TrueNAS, sorted.
func KindsOnNAS(deployment apitype.DeploymentV3) []tokens.Type {
	var kinds []tokens.Type
	for at := range deployment.Resources {
		if kind := deployment.Resources[at].Type; strings.HasPrefix(string(kind), "truenas:") {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// DeletesOnNAS reports whether the removal of what the state has on TrueNAS deletes something there: not what stays because it is protected, and no
// service, which others may use.
func DeletesOnNAS(deployment apitype.DeploymentV3) bool {
	return slices.ContainsFunc(deployment.Resources, func(r apitype.ResourceV3) bool {
		return strings.HasPrefix(string(r.Type), "truenas:") && r.Type != token.Service && !r.RetainOnDelete
	})
}
