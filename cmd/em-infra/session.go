package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// session is a stack that is ready to be worked on: sound inventory, installed tools, a host that answers.
type session struct {
	workspace *workspace.Workspace
	inventory *inventory.Inventory // as deployed: in a rehearsal, on the lab's network
	stack     auto.Stack
	state     engine.State
	host      pve.Connection
	out       io.Writer
	started   time.Time
}

// want is what a command needs of the stack.
type want struct {
	// startLab starts the lab of a rehearsal if it does not run.
	startLab bool
	// newStack makes the stack if it is not there.
	newStack bool
}

// openSession gets everything ready, cheapest check first, and touches nothing that is real.
func openSession(ctx context.Context, flags stackFlags, wanted want, out io.Writer) (*session, error) {
	s := &session{out: out, started: time.Now()}
	var err error
	if s.workspace, s.inventory, err = flags.load(); err != nil {
		return nil, refused(err)
	}
	if err := checkSecrets(s.workspace); err != nil {
		return nil, refused(err)
	}
	tools, err := toolchain.Install(ctx, toolchain.Options{Progress: out})
	if err != nil {
		return nil, err
	}
	if err := s.workspace.Prepare(); err != nil {
		return nil, err
	}
	if err := tools.Populate(s.workspace.Home); err != nil {
		return nil, err
	}
	var rehearsed lab.Description
	if s.workspace.Rehearsed {
		if rehearsed, err = s.enterLab(ctx, wanted.startLab); err != nil {
			return nil, err
		}
	}
	if err := s.selectStack(ctx, tools, wanted.newStack); err != nil {
		return nil, err
	}
	if err := s.configure(ctx, rehearsed); err != nil {
		return nil, err
	}
	if _, err := s.host.Reach(ctx); err != nil {
		return nil, refused(err)
	}
	return s, nil
}

// checkSecrets refuses early what the engine would refuse after minutes.
func checkSecrets(w *workspace.Workspace) error {
	if w.Rehearsed {
		return nil
	}
	if os.Getenv("PULUMI_CONFIG_PASSPHRASE") == "" && os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE") == "" {
		return errors.New("the passphrase of the stack's secrets is not set: put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without")
	}
	found, err := w.HasToken()
	if err == nil && !found {
		err = fmt.Errorf("%s holds no Proxmox API token: run `pulumi config set --stack %s --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without", workspace.Nearby(w.StackFile()), w.Stack)
	}
	return err
}

// enterLab moves the session onto the lab's network.
func (s *session) enterLab(ctx context.Context, start bool) (lab.Description, error) {
	if start {
		if err := startLab(ctx, s.workspace, s.inventory, "", s.out); err != nil {
			return lab.Description{}, err
		}
	}
	d, pid, err := labOf(s.workspace)
	if err != nil {
		return d, err
	}
	if pid == 0 {
		return d, refused(fmt.Errorf("the lab of %s is not running: start it with `em-infra lab start --stack %s`", s.workspace.Stack, s.workspace.Stack))
	}
	s.inventory, err = s.inventory.Rebase(d.Network)
	return d, err
}

func (s *session) selectStack(ctx context.Context, tools *toolchain.Installed, create bool) (err error) {
	command, err := cli(tools)
	if err != nil {
		return err
	}
	env := s.workspace.Environment()
	maps.Copy(env, tools.Environment(s.workspace.Home))
	if tool, err := os.Executable(); err == nil {
		env["EM_INFRA"] = tool // the program's Commands call this very program
	}
	s.state = engine.State{Command: command, Dir: s.workspace.Dir, Env: env, Stack: s.workspace.Stack}
	embedding := stacks.Embedding{
		Stack:   s.workspace.Stack,
		WorkDir: s.workspace.Dir,
		Env:     env,
		Command: command,
		Program: stacks.Program(stacks.Options{Root: s.workspace.Root, Inventory: s.workspace.Inventory}),
	}
	if create {
		s.stack, err = stacks.Upsert(ctx, embedding)
		return err
	}
	s.stack, err = stacks.Select(ctx, embedding)
	if errors.Is(err, stacks.ErrNoStack) {
		return refused(fmt.Errorf("there is no state of stack %s: nothing was ever brought up; `em-infra up` does that", s.workspace.Stack))
	}
	return err
}

// cli is the Pulumi CLI among the tools.
func cli(tools *toolchain.Installed) (*engine.Command, error) {
	tool, found := tools.CLI()
	if !found {
		return nil, errors.New("the tool chain holds no Pulumi CLI: run `em-infra tools install`")
	}
	version, err := semver.ParseTolerant(tool.Version)
	if err != nil {
		return nil, fmt.Errorf("version of %s: %w", tool.Path, err)
	}
	return engine.NewCommand(tool.Path, version), nil
}

// configure reads how to reach the host; in a rehearsal it writes first what the lab chose.
func (s *session) configure(ctx context.Context, rehearsed lab.Description) error {
	config, err := s.stack.GetAllConfig(ctx)
	if err != nil {
		return err
	}
	if s.workspace.Rehearsed {
		wanted := rehearsalConfig(s.workspace, rehearsed)
		if differs(config, wanted) {
			if err := s.stack.SetAllConfig(ctx, wanted); err != nil {
				return err
			}
			config = wanted
		}
	}
	s.host = pve.Connection{
		Endpoint: config[stacks.Key(stacks.KeyProxmoxEndpoint)].Value,
		Token:    config[stacks.Key(stacks.KeyProxmoxToken)].Value,
		Insecure: config[stacks.Key(stacks.KeyProxmoxInsecure)].Value == "true",
	}
	return nil
}

func rehearsalConfig(w *workspace.Workspace, d lab.Description) auto.ConfigMap {
	return auto.ConfigMap{
		stacks.Key(stacks.KeyInventory):       {Value: w.Inventory},
		stacks.Key(stacks.KeyProxmoxEndpoint): {Value: d.ProxmoxEndpoint()},
		stacks.Key(stacks.KeyProxmoxToken):    {Value: d.Token, Secret: true},
		stacks.Key(stacks.KeyProxmoxInsecure): {Value: "true"},
		stacks.Key(stacks.KeyImageFactoryURL): {Value: d.FactoryURL()},
		stacks.Key(stacks.KeyLabNetwork):      {Value: d.Network.String()},
	}
}

func differs(have, wanted auto.ConfigMap) bool {
	for key, value := range wanted {
		if have[key].Value != value.Value {
			return true
		}
	}
	return false
}
