package recovery

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

// Credentials are those of the cluster's administrator for the Talos API, as machine secrets hold them.
type Credentials struct {
	CA          string `json:"caCertificate"`
	Certificate string `json:"clientCertificate"`
	Key         string `json:"clientKey"`
}

var errNoCredentials = errors.New("the machine secrets in the state hold no client credentials: run up again")

// CredentialsOf reads the credentials from the outputs of machine secrets in a deployment with secrets in clear.
func CredentialsOf(secrets *apitype.ResourceV3) (Credentials, error) {
	var credentials Credentials
	plain, err := unseal(secrets.Outputs["clientConfiguration"])
	if err != nil {
		return credentials, fmt.Errorf("client credentials in the state: %w", err)
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return credentials, err
	}
	if err := json.Unmarshal(text, &credentials); err != nil || credentials == (Credentials{}) {
		return Credentials{}, errNoCredentials // without the cause, which could quote a secret
	}
	return credentials, nil
}

// unseal replaces what is marked as secret by its value, at any depth.
func unseal(value any) (any, error) {
	object, isObject := value.(map[string]any)
	if !isObject {
		return value, nil
	}
	if object[sig.Key] == sig.Secret {
		text, isText := object["plaintext"].(string)
		if !isText {
			return nil, errNoCredentials
		}
		var plain any
		if err := json.Unmarshal([]byte(text), &plain); err != nil {
			return nil, errNoCredentials
		}
		return unseal(plain)
	}
	plain := make(map[string]any, len(object))
	for name, member := range object {
		var err error
		if plain[name], err = unseal(member); err != nil {
			return nil, err
		}
	}
	return plain, nil
}
