package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

// NewPassphrase returns the passphrase with that text.
func NewPassphrase(text string) *Passphrase { return &Passphrase{phrase: text} }

// ChangePassphrase seals the configuration and the state with another passphrase, as `pulumi stack change-secrets-provider` does. That
// writes the stack's file twice and then the state, so a kill in between leaves a file that fits neither the former passphrase nor the
// state (pulumi pkg/v3 v3.254.0, cmd/pulumi/stack/stack_change_secrets_provider.go). The new passphrase goes through a pipe, as one line.
func (s State) ChangePassphrase(ctx context.Context, to *Passphrase) error {
	_, stderr, _, err := s.run(ctx, []byte(to.phrase+"\n"), "stack", "change-secrets-provider", passphraseProvider, "--stack", s.Stack)
	if err != nil {
		return fmt.Errorf("change the passphrase of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// SealConfig seals the secrets of the stack's file with another passphrase. The state is left as it is. It returns an error, and leaves the
// file as it is, if the present passphrase does not open them.
func (s State) SealConfig(ctx context.Context, to *Passphrase) error {
	stack, err := s.loadConfig()
	if err != nil {
		return err
	}
	var opener config.Decrypter = config.NopDecrypter
	if stack.Config.HasSecureValue() {
		if opener, err = s.Passphrase.crypter(stack.EncryptionSalt); err != nil {
			return err
		}
	}
	if stack.EncryptionSalt, err = to.newSalt(ctx); err != nil {
		return err
	}
	sealer, err := to.crypter(stack.EncryptionSalt)
	if err != nil {
		return err
	}
	if stack.Config, err = stack.Config.Copy(opener, sealer); err != nil {
		return err
	}
	return stack.Save(s.configFile())
}

// ConfigIsSealedWith reports whether the CLI opens the stack's file with a passphrase: its salt counts, whether the file has secrets or not.
func (s State) ConfigIsSealedWith(passphrase *Passphrase) bool {
	stack, err := s.loadConfig()
	if err != nil {
		return false
	}
	_, err = passphrase.crypter(stack.EncryptionSalt)
	return err == nil
}

// SealedWith returns the access to the same stack with another passphrase.
func (s State) SealedWith(passphrase *Passphrase) State {
	s.Passphrase, s.Env = passphrase, maps.Clone(s.Env)
	s.Env[variablePassphrase] = passphrase.phrase
	return s
}

// IsSealedWith reports whether a passphrase opens the secrets of a state; false for a state without a passphrase.
func (e *Exported) IsSealedWith(passphrase *Passphrase) bool {
	provider := e.Deployment.SecretsProviders
	if provider == nil || provider.Type != passphraseProvider {
		return false
	}
	var sealed struct {
		Salt string `json:"salt"`
	}
	if json.Unmarshal(provider.State, &sealed) != nil {
		return false
	}
	_, err := passphrase.crypter(sealed.Salt)
	return err == nil
}
