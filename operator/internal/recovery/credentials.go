package recovery

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Credentials are the cluster administrator's credentials for the Talos API, in the form of the machine secrets.
type Credentials struct {
	CA          string `json:"caCertificate"`
	Certificate string `json:"clientCertificate"`
	Key         string `json:"clientKey"`
}

var errNoCredentials = errors.New("the machine secrets in the state hold no client credentials: run up again")

// CredentialsOf reads the credentials from the outputs of machine secrets, in a deployment with secrets in plain text.
func CredentialsOf(secrets *apitype.ResourceV3) (Credentials, error) {
	var credentials Credentials
	plain, err := propertymap.Unseal(secrets.Outputs["clientConfiguration"])
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
