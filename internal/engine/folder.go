package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// A process of the CLI takes a fifth of a second, and twice that if it derives the key of a passphrase. So a state in a folder
// of this machine, and secrets that are sealed with a passphrase, are read without it. Whatever cannot be read that way, for
// whatever reason, is left to the CLI, which reads it or reports the error (decision 51).

// variableBackend is the environment variable with the URL of the states.
const variableBackend = "PULUMI_BACKEND_URL"

// errElsewhere means that something is not in a folder of this machine, or not in the form that is read here.
var errElsewhere = errors.New("not in a folder of this machine")

// inFolder returns the path of a file or folder of the stack in the state's folder (pulumi pkg/v3 v3.254.0,
// backend/diy/store.go).
func (s State) inFolder(kind, ext string) (string, error) {
	root, isFolder := strings.CutPrefix(s.Env[variableBackend], "file://")
	if !isFolder || !filepath.IsAbs(root) || s.Project == "" {
		return "", errElsewhere
	}
	return filepath.Join(root, ".pulumi", kind, s.Project, s.Stack+ext), nil
}

// exists reports whether the stack's state is known to exist.
func (s State) exists() bool {
	file, err := s.inFolder("stacks", ".json")
	if err != nil {
		return false
	}
	_, err = os.Stat(file)
	return err == nil
}

// readSealed returns the state from its folder, with its secrets encrypted.
func (s State) readSealed() (*Exported, error) {
	file, err := s.inFolder("stacks", ".json")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
	if err != nil {
		return nil, err
	}
	var versioned apitype.VersionedCheckpoint
	if err := json.Unmarshal(text, &versioned); err != nil {
		return nil, err
	}
	exported := &Exported{format: apitype.UntypedDeployment{Version: versioned.Version, Features: versioned.Features}}
	if versioned.Version < firstKnownVersion {
		return nil, errElsewhere
	}
	if err := s.checkFormat(exported.format); err != nil {
		return nil, err
	}
	var checkpoint apitype.CheckpointV3
	if err := json.Unmarshal(versioned.Checkpoint, &checkpoint); err != nil {
		return nil, err
	}
	if checkpoint.Latest == nil {
		return nil, errElsewhere
	}
	exported.Deployment = *checkpoint.Latest
	return exported, nil
}

// firstKnownVersion is the oldest format whose checkpoint equals the current one (same version, resource/stack/checkpoint.go).
const firstKnownVersion = 3

// read returns the state with its secrets in clear text.
func (s State) read() (*Exported, error) {
	exported, err := s.readSealed()
	if err != nil {
		return nil, err
	}
	if err := s.Passphrase.unlock(&exported.Deployment); err != nil {
		return nil, err
	}
	exported.format.Deployment, err = json.Marshal(exported.Deployment)
	return exported, err
}

// text returns an export in the CLI's format.
func (e *Exported) text() ([]byte, error) {
	var err error
	if e.format.Deployment, err = plainJSON(e.Deployment, ""); err != nil {
		return nil, err
	}
	return plainJSON(e.format, "    ")
}

// plainJSON does not escape < > and &, like the CLI.
func plainJSON(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
