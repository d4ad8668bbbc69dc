package workspace

import (
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// Keys of the stack's configuration that the tool itself reads.
const (
	keyInventory = Project + ":inventory"
	keyToken     = Project + ":proxmoxToken"
	keyEndpoint  = Project + ":proxmoxEndpoint"
)

// stackFile is the part of Pulumi.<stack>.yaml that is read before there is an engine.
type stackFile struct {
	SecretsProvider string               `yaml:"secretsprovider"`
	Config          map[string]yaml.Node `yaml:"config"`
}

func readStackFile(path string) (stackFile, error) {
	var file stackFile
	text, err := os.ReadFile(path) //nolint:gosec // the user's own stack file
	if errors.Is(err, os.ErrNotExist) {
		return file, nil
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
