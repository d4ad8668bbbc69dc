package state

import (
	"iter"
	"slices"

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
		if kind := deployment.Resources[at].Type; token.IsTrueNAS(string(kind)) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// DeletesOnNAS yields the providers through which the engine deletes something on TrueNAS when it removes what the state has there. Protected
// resources stay, and so do services, which others may use. The engine connects with the inputs of these providers, and not with the inventory.
func DeletesOnNAS(deployment apitype.DeploymentV3) iter.Seq[*apitype.ResourceV3] {
	deletes := map[string]bool{}
	for at := range deployment.Resources {
		if r := &deployment.Resources[at]; token.IsTrueNAS(string(r.Type)) && r.Type != token.Service && !r.RetainOnDelete {
			deletes[r.Provider] = true
		}
	}
	return where(Every(deployment, token.TrueNASProvider), func(r *apitype.ResourceV3) bool {
		return deletes[string(r.URN)+"::"+string(r.ID)]
	})
}
