package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ageidentity "filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/age"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
)

// File is the name of the secrets beside an inventory.
const File = inventory.SecretsFile

// Errors of the file or its key.
var (
	ErrNotEncrypted = errors.New("is not encrypted")
	ErrNotSOPS      = errors.New("is not a file that sops wrote")
	ErrNoKey        = errors.New("no age key was found")
	ErrBadKey       = errors.New("holds no age key")
	ErrWrongKey     = errors.New("the age key does not open it")
	ErrNoRecipient  = errors.New("is encrypted for no age key")
	ErrTampered     = errors.New("was changed after it was encrypted")
	ErrNotText      = errors.New("is not text")
)

// Secrets are the values of the file by their path. The zero value has none.
type Secrets struct{ values map[string]Secret }

// Lookup finds a value by the keys that lead to it.
func (s *Secrets) Lookup(path ...string) (Secret, bool) {
	value, found := s.values[joined(path)]
	return value, found
}

// At finds a value by its path with dots between the keys.
func (s *Secrets) At(path string) (Secret, bool) { return s.Lookup(strings.Split(path, ".")...) }

// Reveal returns all secrets in clear text, by paths with dots between their keys. The caller must keep them secret.
func (s *Secrets) Reveal() map[string]string {
	revealed := make(map[string]string, len(s.values))
	for path, value := range s.values {
		revealed[strings.ReplaceAll(path, "\x00", ".")] = value.Reveal()
	}
	return revealed
}

// joined returns a path as the key of the values. YAML text cannot contain NUL.
func joined(path []string) string { return strings.Join(path, "\x00") }

// Load decrypts the secrets beside the inventory in a folder. Without the file there are none. Errors wrap one of the sentinels
// above and never quote decrypted text.
func Load(dir string, keys Keys) (*Secrets, error) {
	name := filepath.Join(dir, File)
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Secrets{}, nil
	case err != nil:
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	secrets, err := decrypt(data, keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return secrets, nil
}

// decrypt decrypts the file and reads its values.
func decrypt(data []byte, keys Keys) (*Secrets, error) {
	d, err := opened(data, keys)
	if err != nil {
		return nil, err
	}
	secrets := &Secrets{values: map[string]Secret{}}
	for _, branch := range d.tree.Branches {
		if err := secrets.collect(branch, nil); err != nil {
			return nil, inFile(err)
		}
	}
	return secrets, nil
}

// opened decrypts the file: its data key with an age key, its values with the data key, and checks its MAC.
func opened(data []byte, keys Keys) (*Document, error) {
	tree, err := encryptedTree(data)
	if err != nil {
		return nil, err
	}
	key, err := dataKey(tree.Metadata, keys)
	if err != nil {
		return nil, err
	}
	cipher := aes.NewCipher()
	if err := unseal(&tree, key, cipher); err != nil {
		return nil, err
	}
	return &Document{tree: tree, key: key, cipher: cipher}, nil
}

// dataKey decrypts the file's data key with the first matching age key.
func dataKey(metadata sops.Metadata, keys Keys) ([]byte, error) {
	sealed := sealedKeys(metadata)
	if len(sealed) == 0 {
		return nil, remedy.Errorf("add one with `sops updatekeys`", "%w", ErrNoRecipient)
	}
	recipients := make([]string, len(sealed))
	for i, each := range sealed {
		recipients[i] = each.Recipient
	}
	found, places, err := keys.identities()
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, remedy.Errorf("set "+KeyFileVariable+" to the file that holds the key of "+strings.Join(recipients, " or "), "%w", ErrNoKey)
	}
	for _, each := range sealed {
		for _, key := range found {
			age.ParsedIdentities([]ageidentity.Identity{key.Identity}).ApplyToMasterKey(each)
			if opened, err := each.Decrypt(); err == nil {
				return opened, nil
			}
		}
	}
	return nil, remedy.Errorf("use the right key, or add this one with `sops updatekeys`", "%w: it is encrypted for %s, and %s holds that of %s",
		ErrWrongKey, strings.Join(recipients, " and "), strings.Join(places, " and "), publicHalves(found))
}

// publicHalves names keys by their public halves.
func publicHalves(keys []identity) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.recipient
	}
	return strings.Join(names, " and ")
}

// sealedKeys returns the copies of the data key that are encrypted for age keys.
func sealedKeys(metadata sops.Metadata) []*age.MasterKey {
	var sealed []*age.MasterKey
	for _, group := range metadata.KeyGroups {
		for _, key := range group {
			if each, ok := key.(*age.MasterKey); ok {
				sealed = append(sealed, each)
			}
		}
	}
	return sealed
}

// unseal decrypts the values in place and checks that none was changed, added or removed. The library's errors may quote
// values, so they are not passed on.
func unseal(tree *sops.Tree, key []byte, cipher aes.Cipher) error {
	sum, err := tree.Decrypt(key, cipher)
	if err != nil {
		return tampered()
	}
	sealed, err := cipher.Decrypt(tree.Metadata.MessageAuthenticationCode, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil || sealed != sum {
		return tampered()
	}
	return nil
}

func tampered() error { return remedy.Errorf("restore it from a backup", "%w", ErrTampered) }

// inFile extends the error about a value in the file by the command that changes the file.
func inFile(err error) error { return remedy.Extend(err, " with `em-infra secrets edit`") }

// collect reads the values of a mapping, recursively. Names are not secret: sops does not encrypt them.
func (s *Secrets) collect(branch sops.TreeBranch, path []string) error {
	for _, item := range branch {
		name, ok := item.Key.(string)
		if !ok { // a comment
			continue
		}
		inner := append(slices.Clone(path), name)
		switch value := item.Value.(type) {
		case sops.TreeBranch:
			if err := s.collect(value, inner); err != nil {
				return err
			}
		case string:
			s.values[joined(inner)] = newSecret(value)
		default:
			return remedy.Errorf("put it in quotes", "%s %w", strings.Join(inner, "."), ErrNotText)
		}
	}
	return nil
}
