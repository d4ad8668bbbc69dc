package status

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// vmids returns the VMIDs of the virtual machines in a state.
func vmids(deployment apitype.DeploymentV3) []int {
	var known []int
	for _, resource := range deployment.Resources {
		if id, isNumber := resource.Outputs["vmId"].(float64); isNumber && resource.Type == token.VirtualMachine && !resource.Delete {
			known = append(known, int(id))
		}
	}
	return known
}

// pending returns the operations that have begun but not ended according to the state.
func pending(deployment apitype.DeploymentV3) []string {
	var begun []string
	for _, operation := range deployment.PendingOperations {
		begun = append(begun, fmt.Sprintf("%s %s", operation.Type, operation.Resource.URN.Name()))
	}
	return begun
}
