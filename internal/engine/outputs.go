package engine

import (
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Outputs returns the stack's outputs from a deployment with its secrets in clear text, in the form of the Automation API's own
// Outputs, which runs the CLI twice; none if nothing was deployed. The error is [propertymap.ErrSealed].
func Outputs(deployment apitype.DeploymentV3) (auto.OutputMap, error) {
	outputs := auto.OutputMap{}
	for _, one := range deployment.Resources {
		if one.Type != resource.RootStackType {
			continue
		}
		for name, value := range one.Outputs {
			plain, err := propertymap.Unseal(value)
			if err != nil {
				return nil, err
			}
			outputs[name] = auto.OutputValue{Value: plain, Secret: propertymap.IsSecret(value)}
		}
	}
	return outputs, nil
}
