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

// A process of the CLI costs a fifth of a second, and twice that where it makes the key of a passphrase. So a state in a folder of
// this machine, and what is sealed with a passphrase, is read without one. Whatever cannot be read that way is left to the CLI,
// whatever the reason: it reads what else there is, and says what is wrong (decision 51).

// variableBackend names the place of the states.
const variableBackend = "PULUMI_BACKEND_URL"

// errElsewhere says that something is not in a folder of this machine, or not in the form that is read here.
var errElsewhere = errors.New("not in a folder of this machine")

// inFolder returns the file or folder of the stack below one of the state's folders (pulumi pkg/v3 v3.254.0,
// backend/diy/store.go).
func (s State) inFolder(kind, ext string) (string, error) {
	root, isFolder := strings.CutPrefix(s.Env[variableBackend], "file://")
	if !isFolder || !filepath.IsAbs(root) || s.Project == "" {
		return "", errElsewhere
	}
	return filepath.Join(root, ".pulumi", kind, s.Project, s.Stack+ext), nil
}

// exists reports whether the stack's state is known to be there.
func (s State) exists() bool {
	file, err := s.inFolder("stacks", ".json")
	if err != nil {
		return false
	}
	_, err = os.Stat(file)
	return err == nil
}

// readSealed returns the state as it lies in its folder.
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
	if err := checkFormat(exported.format); err != nil {
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

// firstKnownVersion is the oldest format whose checkpoint is that of today (same version, resource/stack/checkpoint.go).
const firstKnownVersion = 3

// read returns the state with its secrets in clear.
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

// text returns an export as the CLI writes it.
func (e *Exported) text() ([]byte, error) {
	var err error
	if e.format.Deployment, err = plainJSON(e.Deployment, ""); err != nil {
		return nil, err
	}
	return plainJSON(e.format, "    ")
}

// plainJSON leaves < > and & as they are, as the CLI does.
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
