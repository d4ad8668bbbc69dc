package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/blang/semver"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

func (s *session) selectStack(ctx context.Context, tools *toolchain.Installed, create bool) error {
	if err := s.attach(ctx, tools); err != nil {
		return err
	}
	workDir, err := s.workspace.EngineDir()
	if err != nil {
		return err
	}
	s.engine.program = stacks.Options{
		Root: s.workspace.Root, WorkDir: workDir, Inventory: s.workspace.Inventory, Secrets: secrets.Read, Interrupted: ctx.Done(),
		Plugins:   tools.Plugins(),
		Snapshots: s.workspace.Snapshots(), BucketStandIn: s.workspace.BucketStandIn(),
		Env:     s.state.Env,
		Planned: s.engine.configured.Take,
		Refused: s.engine.refusal.note,
		Unread:  s.engine.unread.note,

		SecretsProvider:   s.state.SecretsProvider,
		UpgradeKubernetes: upgradeKubernetes,
		CopySnapshots:     CopySnapshots,
	}
	if s.inventory != nil {
		s.engine.program.AllowReplace = controlPlaneNames(s.inventory) // until their loss is assessed
	}
	embedding := stacks.Embedding{
		Stack:   s.workspace.Stack,
		WorkDir: s.workspace.Dir,
		Env:     s.state.Env,
		Command: s.state.Automation(),
		Program: stacks.Program(s.engine.program),

		SecretsProvider: s.state.SecretsProvider,
	}
	s.engine.stack, err = stacks.Select(ctx, embedding)
	if !errors.Is(err, stacks.ErrNoStack) {
		return s.statePlace(s.workspace.Backend).explained(ctx, err)
	}
	if err := s.missingState().mayBeMade(ctx, create); err != nil {
		return err
	}
	s.engine.stack, err = stacks.Upsert(ctx, embedding)
	return sentenceOf(err)
}

// attach sets up the access to the stack's state with the engine's CLI, after repairing torn files of the state.
func (s *session) attach(ctx context.Context, tools *toolchain.Installed) error {
	if err := s.checkRotation(); err != nil {
		return err
	}
	if err := s.mendState(ctx); err != nil {
		return err
	}
	command, err := cli(tools)
	if err != nil {
		return err
	}
	provider, err := s.workspace.SecretsProvider()
	if err != nil {
		return err
	}
	env := s.workspace.Environment()
	maps.Copy(env, tools.Environment(s.workspace.Home))
	if s.options.Tool != "" {
		env[ToolVariable] = s.options.Tool
	}
	if s.inventory != nil {
		relaxCollector(env, len(s.inventory.Nodes), os.LookupEnv)
		env[removal.StayVariable] = controlPlanesThatStay(s.inventory, func(name string) string { return name })
	}
	env[optionRefresh] = strconv.FormatBool(s.engine.refresh)
	s.state.State = engine.State{
		Command: command, Dir: s.workspace.Dir, Env: env, Project: workspace.Project, Stack: s.workspace.Stack,
		SecretsProvider: provider, Passphrase: engine.PassphraseIn(env),
	}
	return nil
}

// controlPlanesThatStay returns the inventory's control planes in the form that their removal reads, each by the name that it has as a
// member of etcd during the run.
func controlPlanesThatStay(inv *inventory.Inventory, nameOf func(string) string) string {
	var nodes []string
	for _, node := range inv.Nodes.ControlPlanes() {
		nodes = append(nodes, nameOf(node.Name)+"="+node.Address.String())
	}
	return strings.Join(nodes, ",")
}

// optionRefresh is the environment variable of the CLI's flag --refresh of preview, up and destroy (pulumi pkg/v3 v3.254.0,
// cmd/pulumi/pulumi.go, declareFlagsAsEnvironmentVariables). It takes precedence over the option of Pulumi.yaml. The Automation API
// has no other way to switch the refresh off.
const optionRefresh = "PULUMI_OPTION_REFRESH"

// ErrNoCLI is returned if the tool chain has no Pulumi CLI.
var ErrNoCLI = errors.New("the tool chain holds no Pulumi CLI: run `em-infra tools install`")

// cli returns the Pulumi CLI of the tool chain.
func cli(tools *toolchain.Installed) (*engine.Command, error) {
	tool, found := tools.CLI()
	if !found {
		return nil, ErrNoCLI
	}
	version, err := semver.ParseTolerant(tool.Version)
	if err != nil {
		return nil, fmt.Errorf("version of %s: %w", tool.Path, err)
	}
	return engine.NewCommand(tool.Path, version), nil
}

// EnsureStack creates the stack if it does not exist, with the configuration of its rehearsal, so that the engine can be run by
// hand.
func (o *Operator) EnsureStack(ctx context.Context) error {
	_, err := o.begin(ctx, needs{newStack: true, anyKind: true})
	return err
}
