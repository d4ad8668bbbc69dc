package state

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

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
