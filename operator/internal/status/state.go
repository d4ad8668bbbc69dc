package status

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// pending returns the operations that have begun but not ended according to the state.
func pending(deployment apitype.DeploymentV3) []string {
	var begun []string
	for _, operation := range deployment.PendingOperations {
		begun = append(begun, fmt.Sprintf("%s %s", operation.Type, operation.Resource.URN.Name()))
	}
	return begun
}
