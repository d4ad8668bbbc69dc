package status

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// vmids are the virtual machines that a state knows.
func vmids(deployment apitype.DeploymentV3) []int {
	var known []int
	for _, resource := range deployment.Resources {
		if id, isNumber := resource.Outputs["vmId"].(float64); isNumber && resource.Type == token.VirtualMachine && !resource.Delete {
			known = append(known, int(id))
		}
	}
	return known
}

// pending are the operations that have started and not ended, as far as the state knows.
func pending(deployment apitype.DeploymentV3) []string {
	var begun []string
	for _, operation := range deployment.PendingOperations {
		begun = append(begun, fmt.Sprintf("%s %s", operation.Type, operation.Resource.URN.Name()))
	}
	return begun
}
