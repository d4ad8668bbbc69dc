package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

// passphraseProvider is the name of the secrets provider that derives its key from a passphrase.
const passphraseProvider = "passphrase"

// unlock decrypts the secrets in a deployment, still marked as secrets, as `pulumi stack export --show-secrets` does.
func (p *Passphrase) unlock(deployment *apitype.DeploymentV3) error {
	provider := deployment.SecretsProviders
	if provider == nil {
		return errNotOpened // old or empty: not worth a rule of its own
	}
	var sealed struct {
		Salt string `json:"salt"`
	}
	if provider.Type != passphraseProvider || json.Unmarshal(provider.State, &sealed) != nil {
		return errNotOpened
	}
	opener, err := p.crypter(sealed.Salt)
	if err != nil {
		return err
	}
	for i := range deployment.Resources {
		if err := unlockResource(&deployment.Resources[i], opener); err != nil {
			return err
		}
	}
	for i := range deployment.PendingOperations {
		if err := unlockResource(&deployment.PendingOperations[i].Resource, opener); err != nil {
			return err
		}
	}
	return nil
}

func unlockResource(resource *apitype.ResourceV3, opener config.Decrypter) error {
	for _, properties := range []any{resource.Inputs, resource.Outputs, resource.ReplacementTrigger} {
		if err := unlock(properties, opener); err != nil {
			return err
		}
	}
	return nil
}

// SealedByPassphrase reports whether a passphrase seals the secrets of the stack, and no key service.
func (s State) SealedByPassphrase() bool {
	return SealsByPassphrase(s.SecretsProvider)
}

// SealsByPassphrase reports whether a secrets provider, as a stack's file names it, is a passphrase. Without one, and with "default", a
// state that is not in Pulumi Cloud has a passphrase (pulumi pkg/v3 v3.254.0, cmd/pulumi/stack/secrets.go, createSecretsManager).
func SealsByPassphrase(provider string) bool {
	return provider == "" || provider == "default" || provider == passphraseProvider
}

// KeyService returns the service that seals the secrets of a state; empty for a passphrase, and for a state without secrets.
func (e *Exported) KeyService() (string, error) {
	provider := e.Deployment.SecretsProviders
	if provider == nil || provider.Type == passphraseProvider {
		return "", nil
	}
	var service struct {
		URL string `json:"url"` // of the type cloud (pulumi pkg/v3 v3.254.0, secrets/cloud/manager.go)
	}
	if err := json.Unmarshal(provider.State, &service); err != nil {
		return "", err
	}
	return cmp.Or(service.URL, provider.Type), nil
}

// ReadOpened parses the text of a state whose secrets are sealed with the passphrase, and decrypts them.
func (s State) ReadOpened(text []byte) (*Exported, error) {
	exported, err := s.Read(text)
	if err != nil {
		return nil, err
	}
	return exported, s.Passphrase.unlock(&exported.Deployment)
}

// unlock decrypts secrets in place, at any depth.
func unlock(value any, opener config.Decrypter) error {
	switch v := value.(type) {
	case map[string]any:
		if v[sig.Key] == sig.Secret {
			return unlockSecret(v, opener)
		}
		for _, member := range v {
			if err := unlock(member, opener); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := unlock(item, opener); err != nil {
				return err
			}
		}
	}
	return nil
}

func unlockSecret(secret map[string]any, opener config.Decrypter) error {
	sealed, isSealed := secret["ciphertext"].(string)
	if !isSealed {
		return errNotOpened
	}
	text, err := opener.DecryptValue(context.Background(), sealed)
	if err != nil {
		return errNotOpened
	}
	if text, err = unlockWithin(text); err != nil {
		return err
	}
	delete(secret, "ciphertext")
	secret["plaintext"] = text
	return nil
}

// unlockWithin does so for secrets within a decrypted secret, which are not encrypted twice (pulumi pkg/v3 v3.254.0,
// resource/stack/deployment.go, SerializePropertyValue).
func unlockWithin(text string) (string, error) {
	if !strings.Contains(text, sig.Key) {
		return text, nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", errNotOpened
	}
	if err := unlock(value, config.NopDecrypter); err != nil {
		return "", err
	}
	plain, err := json.Marshal(value)
	return string(plain), err
}
