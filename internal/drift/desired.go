package drift

import (
	"encoding/json"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

const typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"

var errSealed = errors.New("the machine configurations in the state are not in clear: export it with its secrets")

// Applied are the machine configurations that were applied last, as the provider noted them with all patches, by the
// address of their node. The state must be one with its secrets in clear.
func Applied(deployment apitype.DeploymentV3) (map[string][]byte, error) {
	applied := map[string][]byte{}
	for _, resource := range deployment.Resources {
		if resource.Type != typeConfiguration || resource.Delete {
			continue
		}
		node, _ := resource.Outputs["node"].(string)
		text, err := unsealed(resource.Outputs["machineConfiguration"])
		if err != nil {
			return nil, err
		}
		applied[node] = []byte(text)
	}
	return applied, nil
}

// unsealed is a text that is marked as a secret. The error quotes nothing.
func unsealed(value any) (string, error) {
	sealed, isObject := value.(map[string]any)
	if !isObject || sealed[sig.Key] != sig.Secret {
		return "", errSealed
	}
	plain, _ := sealed["plaintext"].(string)
	var text string
	if err := json.Unmarshal([]byte(plain), &text); err != nil {
		return "", errSealed
	}
	return text, nil
}
