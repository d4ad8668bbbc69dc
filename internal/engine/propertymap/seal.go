package propertymap

import (
	"encoding/json"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

// Seal marks a text as a secret in a deployment with its secrets in clear text; an import of the deployment encrypts it.
func Seal(text string) (map[string]any, error) {
	plain, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return map[string]any{sig.Key: sig.Secret, "plaintext": string(plain)}, nil
}
