package drift

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
)

const typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"

// Applied are the machine configurations that were applied last, as the provider noted them with all patches, by the
// address of their node. The state must be one with its secrets in clear.
func Applied(deployment apitype.DeploymentV3) (map[string][]byte, error) {
	applied := map[string][]byte{}
	for _, resource := range deployment.Resources {
		if resource.Type != typeConfiguration || resource.Delete {
			continue
		}
		plain, err := engine.Unseal(resource.Outputs["machineConfiguration"])
		if err != nil {
			return nil, err
		}
		node, _ := resource.Outputs["node"].(string)
		if text, isText := plain.(string); isText { // else its creation was interrupted
			applied[node] = []byte(text)
		}
	}
	return applied, nil
}
