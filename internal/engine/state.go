package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// State is a stack's state, which the CLI exports and imports. Exported secrets are in clear text; they pass through pipes
// only, while the Automation API's own Import would write them to a file.
type State struct {
	// Command is the CLI.
	Command *Command
	// Dir is the folder with Pulumi.yaml.
	Dir string
	// Env is the environment of the CLI.
	Env map[string]string
	// Project is the project's name. Default: empty; then the CLI reads everything.
	Project string
	// Stack is the stack's name.
	Stack string
	// Passphrase decrypts secrets without the CLI. Default: nil; then the CLI decrypts them.
	Passphrase *Passphrase
	// SecretsProvider is the secrets provider in the stack's file. Default: empty, a passphrase.
	SecretsProvider string
}

// Exported is a state: the deployment and its format.
type Exported struct {
	// Deployment may be changed.
	Deployment apitype.DeploymentV3

	format apitype.UntypedDeployment
}

// Copy returns the state as it was exported, without later changes of e.Deployment. It fails if e was imported with something
// that cannot be read.
func (e *Exported) Copy() (*Exported, error) {
	copied := &Exported{format: e.format}
	if e.format.Deployment == nil {
		return copied, nil
	}
	return copied, json.Unmarshal(e.format.Deployment, &copied.Deployment)
}

// ErrNoStack means that the stack does not exist.
var ErrNoStack = errors.New("there is no such stack")

// FormatError is the error of a state that is sound, but of a newer format than this program knows.
type FormatError struct {
	Stack string
	// What it has, such as "has format 5, newer than 4".
	What string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the state of %s %s: use an em-infra as new as the Pulumi CLI that wrote it", e.Stack, e.What)
}

// exitNoStack is the CLI's exit code for that (pulumi sdk/v3 v3.254.0, go/common/util/cmdutil/exit.go).
const exitNoStack = 6

// Export returns the state. The error wraps [ErrNoStack] if the stack does not exist.
func (s State) Export(ctx context.Context) (*Exported, error) {
	if exported, err := s.read(); err == nil {
		return exported, nil
	}
	text, err := s.export(ctx, "--show-secrets")
	if err != nil {
		return nil, err
	}
	return s.Read(text)
}

// ExportSealed returns the text of the state with its secrets encrypted by the stack's own secrets provider, for a file. The
// error wraps [ErrNoStack] if the stack does not exist.
func (s State) ExportSealed(ctx context.Context) ([]byte, error) {
	if sealed, err := s.readSealed(); err == nil {
		return sealed.text()
	}
	return s.export(ctx)
}

func (s State) export(ctx context.Context, flags ...string) ([]byte, error) {
	stdout, stderr, code, err := s.run(ctx, nil, append([]string{"stack", "export", "--stack", s.Stack}, flags...)...)
	if code == exitNoStack {
		err = ErrNoStack
	}
	if err != nil && tooNew.MatchString(stderr) {
		return nil, &FormatError{s.Stack, "is of a format that is not known here"}
	}
	if err != nil {
		return nil, fmt.Errorf("export the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return []byte(stdout), nil
}

// Read parses the text of a state. Secrets stay as they are, in clear text or encrypted.
func (s State) Read(text []byte) (*Exported, error) {
	exported := &Exported{}
	if err := json.Unmarshal(text, &exported.format); err != nil {
		return nil, fmt.Errorf("export the state of %s: %w", s.Stack, err)
	}
	if exported.format.Deployment == nil {
		return exported, nil // a stack on which no run was done yet
	}
	if err := s.checkFormat(exported.format); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(exported.format.Deployment, &exported.Deployment); err != nil {
		return nil, fmt.Errorf("state of %s: %w", s.Stack, err)
	}
	return exported, nil
}

// knownFeatures are the features that [apitype.DeploymentV3] can represent (pulumi pkg/v3 v3.254.0,
// resource/stack/deployment.go, supportedFeatures); a state would lose any other one here.
var knownFeatures = []string{
	"refreshBeforeUpdate", "views", "hooks", "taint", "replaceWith", "snippets-prototype", "extensionParameterization", "byteString",
}

// checkFormat returns a [FormatError] for a format that is not known here.
func (s State) checkFormat(format apitype.UntypedDeployment) error {
	if format.Version > apitype.DeploymentSchemaVersionLatest {
		return &FormatError{s.Stack, fmt.Sprintf("has format %d, newer than %d", format.Version, apitype.DeploymentSchemaVersionLatest)}
	}
	for _, feature := range format.Features {
		if !slices.Contains(knownFeatures, feature) {
			return &FormatError{s.Stack, fmt.Sprintf("uses %q, which is unknown here", feature)}
		}
	}
	return nil
}

// tooNew are the errors of the CLI for such a state (pulumi pkg/v3 v3.254.0, resource/stack/deployment.go, FormatDeploymentDeserializationError,
// and checkpoint.go, UnmarshalVersionedCheckpointToLatestCheckpoint).
var tooNew = regexp.MustCompile(`newer than what this version of the Pulumi CLI understands|unsupported checkpoint version|features that are not supported by this version`)

// Import replaces the state; the CLI encrypts its secrets. It drops pending operations (pulumi pkg/v3 v3.254.0,
// cmd/pulumi/stack/io.go, SaveSnapshot), so they have to be settled before. It also replaces a state that can no longer be
// read.
func (s State) Import(ctx context.Context, exported *Exported) error {
	text, err := json.Marshal(exported.Deployment)
	if err != nil {
		return err
	}
	exported.format.Deployment = text
	document, err := json.Marshal(exported.format)
	if err != nil {
		return err
	}
	_, stderr, _, err := s.run(ctx, document, "stack", "import", "--stack", s.Stack)
	if err != nil {
		return fmt.Errorf("import the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// Create creates an empty state for a stack without one. The stack's file and its secrets provider do not change.
func (s State) Create(ctx context.Context) error {
	args := []string{"stack", "init", s.Stack}
	if s.SecretsProvider != "" {
		args = append(args, "--secrets-provider", s.SecretsProvider)
	}
	_, stderr, _, err := s.run(ctx, nil, args...)
	if err != nil {
		return fmt.Errorf("make a state for %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// Remove deletes the state. The resources in it and the stack's file stay.
func (s State) Remove(ctx context.Context) error {
	_, stderr, _, err := s.run(ctx, nil, "stack", "rm", "--stack", s.Stack, "--force", "--preserve-config", "--yes")
	if err != nil {
		return fmt.Errorf("remove the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// Unlock removes every lock of the state, no matter which process holds it.
func (s State) Unlock(ctx context.Context) error {
	_, stderr, _, err := s.run(ctx, nil, "cancel", "--yes", "--stack", s.Stack)
	if err != nil {
		return fmt.Errorf("unlock the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// Stacks returns the names of all stacks of the project whose states are kept in the same place.
func (s State) Stacks(ctx context.Context) ([]string, error) {
	stdout, stderr, _, err := s.run(ctx, nil, "stack", "ls", "--json")
	if err != nil {
		return nil, fmt.Errorf("list the stacks: %w: %s", err, strings.TrimSpace(stderr))
	}
	var listed []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(stdout), &listed); err != nil {
		return nil, fmt.Errorf("list the stacks: %w", err)
	}
	names := make([]string, len(listed))
	for i, stack := range listed {
		names[i] = stack.Name
	}
	return names, nil
}

func (s State) run(ctx context.Context, stdin []byte, args ...string) (stdout, stderr string, code int, err error) {
	return s.Command.Run(ctx, s.Dir, bytes.NewReader(stdin), nil, nil, entries(s.Env), args...)
}
