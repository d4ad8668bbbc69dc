package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

// Passphrase is the passphrase that seals the secrets of a stack. The derivation of its key takes a fifth of a second of
// processor time, or two thirds where the processor has no instructions for SHA-256, and is done once for each salt.
type Passphrase struct {
	phrase string

	mu       sync.Mutex
	crypters map[string]config.Crypter
}

// PassphraseIn returns the passphrase that the CLI finds in its environment, of which given is set by the caller; nil if there
// is none (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go, readPassphrase).
func PassphraseIn(given map[string]string) *Passphrase {
	env := environment("", os.Environ(), entries(given))
	if phrase, found := lookup(env, variablePassphrase); found {
		return &Passphrase{phrase: phrase}
	}
	file, _ := lookup(env, variablePassphraseFile)
	text, err := os.ReadFile(file) //nolint:gosec // the user's own
	if err != nil {
		return nil // the CLI reports the error
	}
	return &Passphrase{phrase: strings.TrimSpace(string(text))}
}

// Text returns the passphrase itself, secret.
func (p *Passphrase) Text() string { return p.phrase }

// entries returns variables in the form of a process's environment, in order.
func entries(variables map[string]string) []string {
	env := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, name+"="+variables[name])
	}
	return env
}

// errNotOpened means that secrets cannot be decrypted here. The CLI, which then runs, reports why.
var errNotOpened = errors.New("the secrets are not sealed with this passphrase")

// What a salt is made of (same file as above).
const (
	saltVersion = "v1"
	saltLength  = 8
	proofWord   = "pulumi"
)

// crypter returns what seals and opens secrets with the passphrase and a salt. It checks the passphrase with the
// salt's own text: v1:SALT:SEALED, where SEALED is the encrypted word pulumi (same file, symmetricCrypterFromPhraseAndState).
func (p *Passphrase) crypter(salt string) (config.Crypter, error) {
	if p == nil {
		return nil, errNotOpened
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, found := p.crypters[salt]; found {
		return known, nil
	}
	version, rest, _ := strings.Cut(salt, ":")
	encoded, proof, found := strings.Cut(rest, ":")
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if version != saltVersion || !found || err != nil {
		return nil, errNotOpened
	}
	crypter := config.NewSymmetricCrypterFromPassphrase(p.phrase, bytes)
	if word, err := crypter.DecryptValue(context.Background(), proof); err != nil || word != proofWord {
		return nil, errNotOpened
	}
	p.keep(salt, crypter)
	return crypter, nil
}

// keep stores what crypter returns next time. The caller holds the lock.
func (p *Passphrase) keep(salt string, crypter config.Crypter) {
	if p.crypters == nil {
		p.crypters = map[string]config.Crypter{}
	}
	p.crypters[salt] = crypter
}

// newSalt returns a salt with its text, to be checked by crypter (same file, NewPassphraseSecretsManager).
func (p *Passphrase) newSalt(ctx context.Context) (string, error) {
	if p == nil {
		return "", errNotOpened
	}
	bytes := make([]byte, saltLength)
	_, _ = rand.Read(bytes) // never fails
	crypter := config.NewSymmetricCrypterFromPassphrase(p.phrase, bytes)
	proof, err := crypter.EncryptValue(ctx, proofWord)
	if err != nil {
		return "", err
	}
	salt := saltVersion + ":" + base64.StdEncoding.EncodeToString(bytes) + ":" + proof
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(salt, crypter)
	return salt, nil
}
