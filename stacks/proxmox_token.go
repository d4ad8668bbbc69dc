package stacks

import (
	"context"
	"os"
)

// proxmoxToken is the API token of Proxmox VE.
var proxmoxToken = key{KeyProxmoxToken, "proxmox.apiToken"}

// TokenVariable is the environment variable with the API token of Proxmox VE, and TokenPath its path in secrets.sops.yaml.
var TokenVariable, TokenPath = proxmoxToken.variable(), proxmoxToken.path

// TokenPlace is where the API token of a stack was found.
type TokenPlace int

const (
	// TokenNowhere means that there is none.
	TokenNowhere TokenPlace = iota
	// TokenInEnvironment is TokenVariable, which wins over both others.
	TokenInEnvironment
	// TokenInConfiguration is the stack's own file, which wins over secrets.sops.yaml.
	TokenInConfiguration
	// TokenInSecrets is secrets.sops.yaml, beside the inventory.
	TokenInSecrets
)

// ProxmoxToken returns the API token of a stack of real machines, secret, and where it is. configured is that of the stack's
// configuration, in clear; folder is that of the inventory. secrets.sops.yaml is read only if neither of the two others has one.
func ProxmoxToken(ctx context.Context, configured, folder string, read SecretsReader) (string, TokenPlace, error) {
	inEnvironment := os.Getenv(TokenVariable)
	switch {
	case inEnvironment != "":
		return inEnvironment, TokenInEnvironment, nil
	case configured != "":
		return configured, TokenInConfiguration, nil
	}
	values, err := read(ctx, folder)
	if err != nil {
		return "", TokenNowhere, err
	}
	if token := values[TokenPath]; token != "" {
		return token, TokenInSecrets, nil
	}
	return "", TokenNowhere, nil
}

// secretsReader returns the reader of the options; by default the tool reads.
func (o Options) secretsReader() SecretsReader {
	if o.Secrets != nil {
		return o.Secrets
	}
	return readByTool(o.Root)
}
