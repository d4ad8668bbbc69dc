package state

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// MachineSecretsText returns the machine secrets in a deployment with its secrets in clear text, as the provider writes them; nil if
// there are none. The error is [propertymap.ErrSealed].
func MachineSecretsText(deployment apitype.DeploymentV3) (map[string]any, error) {
	resource := MachineSecrets(deployment)
	if resource == nil {
		return nil, nil
	}
	plain, err := propertymap.Unseal(resource.Outputs["machineSecrets"])
	if err != nil {
		return nil, err
	}
	properties, _ := plain.(map[string]any)
	return properties, nil
}
