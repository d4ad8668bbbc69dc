package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// State is a stack's state as the CLI exports and imports it. Secrets are in clear in what is exported; they pass through
// pipes only, while the Automation API's own Import would write them to a file.
type State struct {
	// Command is the CLI.
	Command *Command
	// Dir is the folder with Pulumi.yaml.
	Dir string
	// Env is the environment of the CLI.
	Env map[string]string
	// Project is the project's name. Default: empty; then everything is left to the CLI.
	Project string
	// Stack is the stack's name.
	Stack string
	// Passphrase is what secrets are read with where no CLI is needed for that. Default: nil; then they are left to the CLI.
	Passphrase *Passphrase
	// SecretsProvider is what the stack's file names as such. Default: empty, a passphrase.
	SecretsProvider string
}

// Exported is a state: the deployment, and what the CLI says of its format.
type Exported struct {
	// Deployment is what may be changed.
	Deployment apitype.DeploymentV3

	format apitype.UntypedDeployment
}

// Copy returns the state as it was exported, whatever has been changed in e.Deployment since. It fails where e was
// imported with something that cannot be read.
func (e *Exported) Copy() (*Exported, error) {
	copied := &Exported{format: e.format}
	if e.format.Deployment == nil {
		return copied, nil
	}
	return copied, json.Unmarshal(e.format.Deployment, &copied.Deployment)
}

// ErrNoStack says that there is no such stack where the state is kept.
var ErrNoStack = errors.New("there is no such stack")

// exitNoStack is the CLI's exit code for that (pulumi sdk/v3 v3.254.0, go/common/util/cmdutil/exit.go).
const exitNoStack = 6

// Export returns the state. The error wraps [ErrNoStack] where there is none.
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

// ExportSealed returns the text of the state with its secrets encrypted by the stack's own secrets provider: fit to be
// kept in a file. The error wraps [ErrNoStack] where there is none.
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
	if err != nil {
		return nil, fmt.Errorf("export the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return []byte(stdout), nil
}

// Read reads the text of a state. Secrets stay as they are in it, in clear or encrypted.
func (s State) Read(text []byte) (*Exported, error) {
	exported := &Exported{}
	if err := json.Unmarshal(text, &exported.format); err != nil {
		return nil, fmt.Errorf("export the state of %s: %w", s.Stack, err)
	}
	if exported.format.Deployment == nil {
		return exported, nil // a stack on which nothing was ever done
	}
	if err := checkFormat(exported.format); err != nil {
		return nil, fmt.Errorf("the state of %s %w: use an em-infra as new as the Pulumi CLI that wrote it", s.Stack, err)
	}
	if err := json.Unmarshal(exported.format.Deployment, &exported.Deployment); err != nil {
		return nil, fmt.Errorf("state of %s: %w", s.Stack, err)
	}
	return exported, nil
}

// knownFeatures are those of which [apitype.DeploymentV3] keeps everything (pulumi pkg/v3 v3.254.0,
// resource/stack/deployment.go, supportedFeatures); a state with another one would lose it on the way through here.
var knownFeatures = []string{
	"refreshBeforeUpdate", "views", "hooks", "taint", "replaceWith", "snippets-prototype", "extensionParameterization", "byteString",
}

func checkFormat(format apitype.UntypedDeployment) error {
	if format.Version > apitype.DeploymentSchemaVersionLatest {
		return fmt.Errorf("has format %d, newer than %d", format.Version, apitype.DeploymentSchemaVersionLatest)
	}
	for _, feature := range format.Features {
		if !slices.Contains(knownFeatures, feature) {
			return fmt.Errorf("uses %q, which is unknown here", feature)
		}
	}
	return nil
}

// Import replaces the state; the CLI encrypts its secrets anew. It drops pending operations (pulumi pkg/v3 v3.254.0,
// cmd/pulumi/stack/io.go, SaveSnapshot), so they have to be settled before. A state that can no longer be read is replaced
// too.
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

// Create makes an empty state for a stack that has none. The stack's file and its secrets provider stay what they are.
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

// Remove deletes the state and leaves everything that it speaks of, and the stack's file, as they are.
func (s State) Remove(ctx context.Context) error {
	_, stderr, _, err := s.run(ctx, nil, "stack", "rm", "--stack", s.Stack, "--force", "--preserve-config", "--yes")
	if err != nil {
		return fmt.Errorf("remove the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	return nil
}

// Unlock takes every lock off the state, whoever holds it.
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
