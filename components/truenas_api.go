package components

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// TrueNASAPI is the connection to a TrueNAS box, 25.04 or later.
type TrueNASAPI struct {
	// Endpoint is the URL of the box, e.g. https://nas.example. Required.
	Endpoint string
	// Fingerprint is the SHA-256 of its certificate, in hexadecimal digits. Default: empty, the certificate is verified.
	Fingerprint string
	// CA is the authority that signs its certificate, in PEM. Default: empty, those of this machine.
	CA string
	// Username is the user that the API key belongs to. Required.
	Username string
	// APIKey of that user. Required, secret.
	APIKey pulumi.StringInput
}

// NewTrueNASProvider creates the provider of the resources of TrueNAS, whose plugin is em-infra itself (docs/decisions/0097). It returns
// an error if an argument is missing.
func NewTrueNASProvider(ctx *pulumi.Context, name string, api TrueNASAPI, opts ...pulumi.ResourceOption) (pulumi.ProviderResource, error) {
	if err := api.validate(); err != nil {
		return nil, fmt.Errorf("truenas provider %q: %w", name, err)
	}
	inputs := pulumi.Map{
		"endpoint": pulumi.String(api.Endpoint), "username": pulumi.String(api.Username), "apiKey": pulumi.ToSecret(api.APIKey),
	}
	for key, value := range map[string]string{"fingerprint": api.Fingerprint, "ca": api.CA} {
		if value != "" {
			inputs[key] = pulumi.String(value)
		}
	}
	made := &trueNASProvider{}
	return made, ctx.RegisterResource(token.TrueNASProvider, name, inputs, made, opts...)
}

type trueNASProvider struct{ pulumi.ProviderResourceState }

func (api TrueNASAPI) validate() error {
	return errors.Join(
		require(api.Endpoint != "", "API.Endpoint", "give the URL of the box, e.g. https://nas.example"),
		require(api.Fingerprint == "" || api.CA == "", "API.CA", "give a CA or a Fingerprint, not both"),
		require(api.Username != "", "API.Username", "give the user whose API key it is"),
		require(api.APIKey != nil, "API.APIKey", "give the API key"),
	)
}
