package workspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// Keys of the stack's configuration that the tool itself reads.
const (
	keyInventory = Project + ":inventory"
	keyToken     = Project + ":proxmoxToken"
	keyEndpoint  = Project + ":proxmoxEndpoint"
	keyBackend   = Project + ":backend"
)

// stackFile is the part of Pulumi.<stack>.yaml that is read before there is an engine.
type stackFile struct {
	SecretsProvider string               `yaml:"secretsprovider"`
	EncryptionSalt  string               `yaml:"encryptionsalt"`
	EncryptedKey    string               `yaml:"encryptedkey"`
	Config          map[string]yaml.Node `yaml:"config"`
}

func readStackFile(path string) (stackFile, error) {
	var file stackFile
	text, err := os.ReadFile(path) //nolint:gosec // the user's own stack file
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return file, nil // a rehearsal that does not exist yet; Prepare reports other errors
	}
	if err != nil {
		return file, err
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return file, fmt.Errorf("%s: %w: correct the file or restore it from git", path, err)
	}
	return file, nil
}

func inventoryOf(path string) (string, error) {
	file, err := readStackFile(path)
	if err != nil {
		return "", err
	}
	value := file.Config[keyInventory]
	return value.Value, nil
}

// SecretsProvider returns the secrets provider in the stack's file; empty for a passphrase.
func (w *Workspace) SecretsProvider() (string, error) {
	file, err := readStackFile(w.StackFile())
	return file.SecretsProvider, err
}

// HadState reports whether the stack's file has what the engine writes into it when it has made a state: a salt, or the data key of a key
// service (pulumi pkg/v3 v3.254.0, cmd/pulumi/stack/io.go, CreateStack).
func (w *Workspace) HadState() (bool, error) {
	file, err := readStackFile(w.StackFile())
	return file.EncryptionSalt != "" || file.EncryptedKey != "", err
}

// HasToken reports whether the stack's file contains a Proxmox API token.
func (w *Workspace) HasToken() (bool, error) {
	file, err := readStackFile(w.StackFile())
	if err != nil {
		return false, err
	}
	token, found := file.Config[keyToken]
	isEmpty := token.Kind == yaml.ScalarNode && token.Value == "" // an encrypted token is a mapping
	return found && !isEmpty, nil
}
