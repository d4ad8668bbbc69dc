package secrets

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	ageidentity "filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	sopsyaml "github.com/getsops/sops/v3/stores/yaml"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// Errors of a change.
var (
	ErrNoFile  = errors.New("is not there")
	ErrExists  = errors.New("exists")
	ErrInvalid = errors.New("is not valid")
)

// ClearFile is the name of the file in clear that an editor shows.
const ClearFile = "secrets.yaml"

// fileMode is the mode of a new file. Its values are encrypted, their names are not.
const fileMode = 0o600

// sopsVersion is the version of sops that a new file names, that of the library in go.mod. Its own constant would need the client of
// the sops command.
const sopsVersion = "3.10.2"

// Document is the decrypted file of a folder. Its changes are written by [Document.Save].
type Document struct {
	path   string
	tree   sops.Tree
	key    []byte // the data key, which encrypts the values
	cipher aes.Cipher
	mine   []identity
}

// Open decrypts the file of a folder. Errors are those of [Load], and [ErrNoFile].
func Open(dir string, keys Keys) (*Document, error) {
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path) //nolint:gosec // beside the inventory
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %w: make it with `em-infra secrets init`", path, ErrNoFile)
	case err != nil:
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	mine, _, err := keys.identities()
	if err != nil {
		return nil, err
	}
	d, err := opened(data, keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.path, d.mine = path, mine
	return d, nil
}

// CheckNew returns [ErrExists] if a folder has a file.
func CheckNew(dir string) error {
	path := filepath.Join(dir, File)
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s %w: change it with `em-infra secrets edit`", path, ErrExists)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Create writes the first file of a folder: each path with an empty value, encrypted for age recipients. Paths have dots between
// their keys. It returns [ErrExists] if there is a file.
func Create(dir string, recipients, paths []string) error {
	if err := CheckNew(dir); err != nil {
		return err
	}
	branch := sops.TreeBranch{}
	for _, each := range paths {
		var steps []any
		for step := range strings.SplitSeq(each, ".") {
			steps = append(steps, step)
		}
		branch, _ = branch.Set(steps, "")
	}
	d := &Document{path: filepath.Join(dir, File), tree: sops.Tree{Branches: sops.TreeBranches{branch}, Metadata: sops.Metadata{
		KeyGroups: []sops.KeyGroup{{}}, UnencryptedSuffix: sops.DefaultUnencryptedSuffix, Version: sopsVersion,
	}}}
	if err := d.newDataKey(); err != nil {
		return err
	}
	for _, recipient := range recipients {
		if err := d.AddRecipient(recipient); err != nil {
			return err
		}
	}
	return d.Save()
}

// Text returns the file in clear. The caller must keep it secret.
func (d *Document) Text() ([]byte, error) {
	text, err := store().EmitPlainFile(d.tree.Branches)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path, ErrNotSOPS) // the library's error may quote values
	}
	return text, nil
}

// lineOf finds the number of a line in an error of the parser, whose other words may quote a value.
var lineOf = regexp.MustCompile(`line (\d+)`)

// Replace replaces the content with new content in clear. If the text is not valid content, nothing changes, and the error wraps [ErrInvalid] or
// [ErrNotText] and never quotes the text.
func (d *Document) Replace(text []byte) error {
	branches, err := store().LoadPlainFile(text)
	if err != nil {
		where := ""
		if line := lineOf.FindString(err.Error()); line != "" {
			where = " at " + line
		}
		return fmt.Errorf("the new text %w YAML%s", ErrInvalid, where)
	}
	found := &Secrets{values: map[string]Secret{}}
	for _, branch := range branches {
		if store().HasSopsTopLevelKey(branch) {
			return fmt.Errorf("the new text %w: SOPS keeps the name \"sops\" for itself, so take another", ErrInvalid)
		}
		if err := found.collect(branch, nil); err != nil {
			return err
		}
	}
	d.tree.Branches = branches
	return nil
}

// Value is the name of one value, without the value.
type Value struct {
	// Path has dots between its keys.
	Path string `json:"path"`
	// Empty reports whether it still has no text.
	Empty bool `json:"empty"`
}

// Values returns the names of all values, in the order of their paths.
func (d *Document) Values() ([]Value, error) {
	found := &Secrets{values: map[string]Secret{}}
	for _, branch := range d.tree.Branches {
		if err := found.collect(branch, nil); err != nil {
			return nil, inFile(err)
		}
	}
	values := make([]Value, 0, len(found.values))
	for path, text := range found.Reveal() {
		values = append(values, Value{Path: path, Empty: text == ""})
	}
	slices.SortFunc(values, func(a, b Value) int { return strings.Compare(a.Path, b.Path) })
	return values, nil
}

// Save encrypts the content and replaces the file. A value that did not change keeps its ciphertext, unless the data key is new.
func (d *Document) Save() error {
	text, err := d.Text()
	if err != nil {
		return err
	}
	tree := d.tree // Encrypt works in place, so it gets a copy of the values
	if tree.Branches, err = store().LoadPlainFile(text); err != nil {
		return fmt.Errorf("%s: %w", d.path, ErrNotSOPS)
	}
	tree.Metadata.LastModified = time.Now().UTC().Truncate(time.Second)
	sum, err := tree.Encrypt(d.key, d.cipher)
	if err != nil {
		return fmt.Errorf("%s: a value cannot be encrypted: %w", d.path, ErrInvalid)
	}
	sealed, err := d.cipher.Encrypt(sum, d.key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil {
		return fmt.Errorf("%s: the checksum cannot be encrypted: %w", d.path, err)
	}
	tree.Metadata.MessageAuthenticationCode = sealed
	data, err := store().EmitEncryptedFile(tree)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return atomicfile.Write(d.path, data, fileMode)
}

func store() *sopsyaml.Store { return sopsyaml.NewStore(&config.YAMLStoreConfig{}) }

// newDataKey makes a new data key. The copies for the recipients still are of the former one.
func (d *Document) newDataKey() error {
	key := make([]byte, 32) // AES-256
	if _, err := rand.Read(key); err != nil {
		return err
	}
	d.key, d.cipher = key, aes.NewCipher()
	return nil
}

// opens reports whether one of the user's own keys opens a copy of the data key.
func (d *Document) opens(sealed *age.MasterKey) bool {
	for _, key := range d.mine {
		age.ParsedIdentities([]ageidentity.Identity{key.Identity}).ApplyToMasterKey(sealed)
		if _, err := sealed.Decrypt(); err == nil {
			return true
		}
	}
	return false
}
