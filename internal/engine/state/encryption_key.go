package state

import (
	"encoding/base64"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// EncryptionKey returns the key with which the cluster's API server seals Secrets in etcd, of a deployment with secrets in plain text.
// Secret. It is nil for a cluster without one.
func EncryptionKey(deployment apitype.DeploymentV3) ([]byte, error) {
	secrets := machineSecrets(deployment)
	if secrets == nil {
		return nil, nil
	}
	plain, err := propertymap.Unseal(secrets.Outputs["machineSecrets"])
	if err != nil {
		return nil, err
	}
	bundle, _ := plain.(map[string]any)
	text, _ := propertymap.At(bundle, "secrets.secretboxEncryptionSecret").(string)
	if text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the key of secretbox in the state is not in base64: restore the state from a backup") // the cause would quote it
	}
	return key, nil
}
