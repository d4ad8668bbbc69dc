package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	// Stack is the stack's name.
	Stack string
}

// Exported is a state: the deployment, with secrets in clear, and what the CLI says of its format.
type Exported struct {
	// Deployment is what may be changed.
	Deployment apitype.DeploymentV3

	format apitype.UntypedDeployment
}

// Export returns the state.
func (s State) Export(ctx context.Context) (*Exported, error) {
	stdout, stderr, _, err := s.run(ctx, nil, "stack", "export", "--show-secrets", "--stack", s.Stack)
	if err != nil {
		return nil, fmt.Errorf("export the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	exported := &Exported{}
	if err := json.Unmarshal([]byte(stdout), &exported.format); err != nil {
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

// Import replaces the state; the CLI encrypts its secrets.
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

func (s State) run(ctx context.Context, stdin []byte, args ...string) (stdout, stderr string, code int, err error) {
	env := make([]string, 0, len(s.Env))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return s.Command.Run(ctx, s.Dir, bytes.NewReader(stdin), nil, nil, env, args...)
}
