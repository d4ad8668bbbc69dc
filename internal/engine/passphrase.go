package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

// Passphrase is what the secrets of a stack are sealed with. The key that is made of it costs a fifth of a second of a
// processor, and is made once for each salt.
type Passphrase struct {
	phrase string

	mu      sync.Mutex
	openers map[string]config.Decrypter
}

// PassphraseIn returns the one that the CLI finds in its environment, of which given is the part that a caller sets; nil where
// there is none (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go, readPassphrase).
func PassphraseIn(given map[string]string) *Passphrase {
	env := environment("", os.Environ(), entries(given))
	if phrase, found := lookup(env, variablePassphrase); found {
		return &Passphrase{phrase: phrase}
	}
	file, _ := lookup(env, variablePassphraseFile)
	text, err := os.ReadFile(file) //nolint:gosec // the user's own
	if err != nil {
		return nil // the CLI says so
	}
	return &Passphrase{phrase: strings.TrimSpace(string(text))}
}

// entries are variables as a process takes them, in order.
func entries(variables map[string]string) []string {
	env := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, name+"="+variables[name])
	}
	return env
}

// errNotOpened says that secrets cannot be read here. The CLI, which is asked then, says why.
var errNotOpened = errors.New("the secrets are not sealed with this passphrase")

// opener opens secrets that were sealed with the passphrase and a salt, which the salt's own text proves: v1:SALT:SEALED, where
// what is sealed is the word pulumi (same file, symmetricCrypterFromPhraseAndState).
func (p *Passphrase) opener(salt string) (config.Decrypter, error) {
	if p == nil {
		return nil, errNotOpened
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, found := p.openers[salt]; found {
		return known, nil
	}
	version, rest, _ := strings.Cut(salt, ":")
	encoded, proof, found := strings.Cut(rest, ":")
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if version != "v1" || !found || err != nil {
		return nil, errNotOpened
	}
	opener := config.NewSymmetricCrypterFromPassphrase(p.phrase, bytes)
	if word, err := opener.DecryptValue(context.Background(), proof); err != nil || word != "pulumi" {
		return nil, errNotOpened
	}
	if p.openers == nil {
		p.openers = map[string]config.Decrypter{}
	}
	p.openers[salt] = opener
	return opener, nil
}
