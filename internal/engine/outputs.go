package engine

import (
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

// Outputs returns the stack's outputs from a deployment with its secrets in clear text, in the form of the Automation API's own
// Outputs, which runs the CLI twice; none if nothing was deployed. The error is [ErrSealed].
func Outputs(deployment apitype.DeploymentV3) (auto.OutputMap, error) {
	outputs := auto.OutputMap{}
	for _, one := range deployment.Resources {
		if one.Type != resource.RootStackType {
			continue
		}
		for name, value := range one.Outputs {
			plain, err := Unseal(value)
			if err != nil {
				return nil, err
			}
			outputs[name] = auto.OutputValue{Value: plain, Secret: isSecret(value)}
		}
	}
	return outputs, nil
}

func isSecret(value any) bool {
	marked, _ := value.(map[string]any)
	return marked[sig.Key] == sig.Secret
}
