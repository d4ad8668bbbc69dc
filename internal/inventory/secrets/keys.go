package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
)

// The places where sops looks for an age key (age/keysource.go of sops).
const (
	// KeyVariable holds the key itself.
	KeyVariable = "SOPS_AGE_KEY"
	// KeyFileVariable names a file with the key.
	KeyFileVariable = inventory.AgeKeyFileVariable
	// keyFile is the path of the key in the user's configuration folder.
	keyFile = "sops/age/keys.txt"
)

// Keys are the places in which age keys are searched. All that are given are tried.
type Keys struct {
	// Text is one or more age identities, as in SOPS_AGE_KEY. Default: none.
	Text Secret
	// File holds age identities and must exist, as in SOPS_AGE_KEY_FILE. Default: none.
	File string
	// UserFile holds age identities and need not exist. Default: none.
	UserFile string
}

// KeysOf returns the places that sops itself searches, from an environment and the user's configuration folder, which may be
// empty.
func KeysOf(environment func(string) string, configDir string) Keys {
	keys := Keys{Text: newSecret(environment(KeyVariable)), File: environment(KeyFileVariable)}
	if configDir != "" {
		keys.UserFile = filepath.Join(configDir, filepath.FromSlash(keyFile))
	}
	return keys
}

// Own returns the public halves of the keys that are found. If there is none, it makes a key in the user's configuration folder,
// which only the user can read, and returns its path.
func (k Keys) Own() (recipients []string, made string, err error) {
	found, _, err := k.identities()
	if err != nil {
		return nil, "", err
	}
	for _, key := range found {
		if key.recipient != "" {
			recipients = append(recipients, key.recipient)
		}
	}
	if len(recipients) > 0 {
		return recipients, "", nil
	}
	if k.UserFile == "" {
		return nil, "", fmt.Errorf("%w, and this user has no configuration folder for a new one: make one with age-keygen, and set %s to its file", ErrNoKey, KeyFileVariable)
	}
	recipient, err := makeKey(k.UserFile)
	return []string{recipient}, k.UserFile, err
}

// makeKey writes a new age key to a file that does not exist, in the form of age-keygen, and returns its public half.
func makeKey(path string) (string, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the place of sops
	if err != nil {
		return "", fmt.Errorf("make an age key: %w", err)
	}
	_, err = fmt.Fprintf(file, "# public key: %s\n%s\n", key.Recipient(), key)
	return key.Recipient().String(), errors.Join(err, file.Sync(), file.Close())
}

// identity is an age key and its public half, which a file names as its recipient.
type identity struct {
	age.Identity
	recipient string
}

// Identities returns the keys of all places. The error never quotes a key.
func (k Keys) Identities() ([]age.Identity, error) {
	found, _, err := k.identities()
	keys := make([]age.Identity, len(found))
	for i, one := range found {
		keys[i] = one.Identity
	}
	return keys, err
}

// identities reads the keys from all places, and returns the names of those places.
func (k Keys) identities() (found []identity, places []string, err error) {
	add := func(place, text string) error {
		parsed, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			// The parser's error may repeat the line, so it is not passed on.
			return remedy.Errorf("each line is a comment or AGE-SECRET-KEY-1…, as age-keygen writes it", "%s: %w", place, ErrBadKey)
		}
		places = append(places, place)
		for _, each := range parsed {
			found = append(found, identity{Identity: each, recipient: recipientOf(each)})
		}
		return nil
	}
	if text := k.Text.Reveal(); text != "" {
		if err := add(KeyVariable, text); err != nil {
			return nil, nil, err
		}
	}
	for _, file := range []struct {
		path     string
		optional bool
	}{{k.File, false}, {k.UserFile, true}} {
		if file.path == "" {
			continue
		}
		text, err := os.ReadFile(file.path)
		switch {
		case file.optional && errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, remedy.Errorf("correct it or restore the file", "%w: %s names %s, which is not there", ErrNoKey, KeyFileVariable, file.path)
		case err != nil:
			return nil, nil, fmt.Errorf("read age key: %w", err)
		}
		if err := add(file.path, string(text)); err != nil {
			return nil, nil, err
		}
	}
	return found, places, nil
}

// recipientOf returns the public half of a key, empty for a kind of key without one.
func recipientOf(key age.Identity) string {
	if native, ok := key.(*age.X25519Identity); ok {
		return native.Recipient().String()
	}
	return ""
}
