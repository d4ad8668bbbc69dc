package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// Export returns the deployment, with secrets in clear.
func (s State) Export(ctx context.Context) (apitype.DeploymentV3, error) {
	var deployment apitype.DeploymentV3
	stdout, stderr, _, err := s.run(ctx, nil, "stack", "export", "--show-secrets", "--stack", s.Stack)
	if err != nil {
		return deployment, fmt.Errorf("export the state of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	var exported apitype.UntypedDeployment
	if err := json.Unmarshal([]byte(stdout), &exported); err != nil {
		return deployment, fmt.Errorf("export the state of %s: %w", s.Stack, err)
	}
	if exported.Deployment == nil {
		return deployment, nil
	}
	if exported.Version != apitype.DeploymentSchemaVersionCurrent {
		return deployment, fmt.Errorf("the state of %s has version %d, not %d: run the command with the Pulumi CLI that wrote it", s.Stack, exported.Version, apitype.DeploymentSchemaVersionCurrent)
	}
	if err := json.Unmarshal(exported.Deployment, &deployment); err != nil {
		return deployment, fmt.Errorf("state of %s: %w", s.Stack, err)
	}
	return deployment, nil
}

// Import replaces the deployment; the CLI encrypts its secrets.
func (s State) Import(ctx context.Context, deployment apitype.DeploymentV3) error {
	text, err := json.Marshal(deployment)
	if err != nil {
		return err
	}
	document, err := json.Marshal(apitype.UntypedDeployment{Version: apitype.DeploymentSchemaVersionCurrent, Deployment: text})
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
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return s.Command.Run(ctx, s.Dir, bytes.NewReader(stdin), nil, nil, env, args...)
}
