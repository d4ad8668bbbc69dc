package stacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/workspace"
)

// Embedding describes how the engine runs a stack from another program.
type Embedding struct {
	// Stack is the stack's name. Required.
	Stack string
	// WorkDir is the folder with Pulumi.yaml and the stack's file. Required.
	WorkDir string
	// Env is the environment of the engine: PULUMI_HOME, PULUMI_BACKEND_URL, the passphrase.
	Env map[string]string
	// SecretsProvider is the secrets provider of a stack that is created, as its file names it. Default: empty, a passphrase.
	SecretsProvider string
	// Command is the Pulumi CLI. Required.
	Command auto.PulumiCommand
	// Program is what is deployed, e.g. the result of [Program].
	Program pulumi.RunFunc
}

// Upsert selects the stack and creates it if it does not exist.
func Upsert(ctx context.Context, e Embedding) (auto.Stack, error) {
	return auto.UpsertStackInlineSource(ctx, e.Stack, workspace.Project, e.Program, e.options()...)
}

// Select selects an existing stack and never creates one. The error is [ErrNoStack] if it does not exist.
func Select(ctx context.Context, e Embedding) (auto.Stack, error) {
	stack, err := auto.SelectStackInlineSource(ctx, e.Stack, workspace.Project, e.Program, e.options()...)
	if auto.IsSelectStack404Error(err) {
		return stack, ErrNoStack
	}
	return stack, err
}

// ErrNoStack means that the stack does not exist.
var ErrNoStack = errors.New("there is no such stack")

func (e Embedding) options() []auto.LocalWorkspaceOption {
	return []auto.LocalWorkspaceOption{auto.WorkDir(e.WorkDir), auto.EnvVars(e.Env), auto.Pulumi(e.Command), auto.SecretsProvider(e.SecretsProvider)}
}

// Outputs are the stack's outputs for programs outside of Pulumi.
type Outputs struct {
	// ContractVersion is the version of this contract.
	ContractVersion string `json:"outputContractVersion"`
	// ClusterName is the cluster's name.
	ClusterName string `json:"talosClusterName"`
	// ControlPlaneEndpoints are the addresses of the control planes' Talos API.
	ControlPlaneEndpoints []string `json:"talosControlPlaneEndpoints"`
	// NodeAddresses maps a node's name to its address.
	NodeAddresses map[string]string `json:"talosNodeAddresses"`
	// VMIDs maps a node's name to its VMID.
	VMIDs map[string]int `json:"talosVmIds"`
	// KubernetesEndpoint is the URL of the Kubernetes API.
	KubernetesEndpoint string `json:"kubernetesEndpoint"`
	// Plugins maps a plugin's name to the build of it that wrote the state; empty if none is recorded.
	Plugins map[string]string `json:"plugins"`
	// Talosconfig of the administrator. Secret.
	Talosconfig string `json:"talosconfig"`
	// Kubeconfig of the administrator. Secret.
	Kubeconfig string `json:"kubeconfig"`
}

// ParseOutputs reads the outputs of an update. The error names the output that violates the contract.
func ParseOutputs(values auto.OutputMap) (Outputs, error) {
	var outputs Outputs
	plain := make(map[string]any, len(values))
	for name, value := range values {
		plain[name] = value.Value
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return outputs, err
	}
	if err := json.Unmarshal(text, &outputs); err != nil {
		return outputs, fmt.Errorf("stack outputs: %w", err)
	}
	if outputs.ContractVersion != OutputContractVersion {
		return outputs, fmt.Errorf("stack outputs: contract version is %q, not %q: run up with this version of em-infra first", outputs.ContractVersion, OutputContractVersion)
	}
	return outputs, nil
}
