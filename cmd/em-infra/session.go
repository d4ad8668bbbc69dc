package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/artifacts"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/progress"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// session is a stack that is ready to be worked on: sound inventory, installed tools, a host that answers.
type session struct {
	workspace  *workspace.Workspace
	inventory  *inventory.Inventory // as deployed: in a rehearsal, on the lab's network
	stack      auto.Stack
	state      engine.State
	exported   *engine.Exported // what [session.lastState] keeps
	exportedAt uint64           // how often the CLI had changed a state by then
	host       pve.Connection
	secrets    []string           // of the configuration, never to be seen
	factory    string             // URL of the Image Factory
	consent    string             // what is asked for before anything is changed; empty when that was answered
	place      string             // the flags that lead a following command to where this one was
	verbose    bool               // the engine speaks for itself
	refresh    bool               // the engine reads what is there before it compares
	keep       int                // of artifacts and backups of each kind
	program    stacks.Options     // of the program that the stack runs
	configured artifacts.Planned  // the machine configurations of that program
	owner      ownership.Owner    // whose machines are ours, as the state says
	known      []int              // the VMIDs that the state knows
	neverRan   []recovery.Remnant // machines that are deleted once somebody has agreed
	unanswered []recovery.Remnant // machines that a preview finds and up takes into the state
	mended     bool               // machines were started before anybody was asked
	failures   []progress.Failure // what the engine reported as wrong in its last run
	started    time.Time
	streams
}

// want is what a command needs of the stack.
type want struct {
	// startLab starts the lab of a rehearsal if it does not run.
	startLab bool
	// choices are what that lab is told.
	choices labChoices
	// newStack makes the stack if it is not there.
	newStack bool
	// mayBeAway leaves it to the command to say that the host does not answer.
	mayBeAway bool
	// consent is the deed that a person has to agree to, as in "type the name of the stack to …"; empty for none.
	consent string
}

// openSession gets everything ready, cheapest check first, and touches nothing that is real.
func openSession(ctx context.Context, flags stackFlags, wanted want, streams streams) (*session, error) {
	s := &session{place: flags.place(), verbose: flags.verbose, refresh: flags.refresh, keep: flags.keep, streams: streams, started: time.Now()}
	var err error
	if s.workspace, s.inventory, err = flags.load(); err != nil {
		return nil, refused(err)
	}
	if wanted.newStack {
		if err := checkBeside(s.workspace, s.inventory); err != nil {
			return nil, refused(err)
		}
	}
	if !flags.yes {
		s.consent = wanted.consent
	}
	if err := s.checkOperator(wanted); err != nil {
		return nil, refused(err)
	}
	tools, err := toolchain.Install(ctx, toolchain.Options{Progress: s.out, Rehearsal: s.workspace.Rehearsed})
	if err != nil {
		return nil, err
	}
	if err := s.workspace.Prepare(); err != nil {
		return nil, err
	}
	if err := tools.Populate(s.workspace.Home); err != nil {
		return nil, err
	}
	rehearsed, err := s.enterLab(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if err := s.selectStack(ctx, tools, wanted.newStack); err != nil {
		return nil, err
	}
	if err := s.configure(ctx, rehearsed); err != nil {
		return nil, err
	}
	if wanted.mayBeAway {
		return s, nil
	}
	if _, err := s.host.Reach(ctx); err != nil {
		return nil, refused(err)
	}
	return s, nil
}

// checkOperator refuses early what would be refused after minutes: that somebody is missing, a secret, or the lab.
func (s *session) checkOperator(wanted want) error {
	if err := s.checkConsent(); err != nil {
		return err
	}
	if !s.workspace.Rehearsed {
		return cmp.Or(wanted.choices.checkReal(), checkSecrets(s.workspace))
	}
	if wanted.startLab {
		return wanted.choices.check(s.workspace.Dir)
	}
	_, err := runningLab(s.workspace)
	return err
}

// checkSecrets looks for what opens the real host.
func checkSecrets(w *workspace.Workspace) error {
	if err := checkPassphrase(); err != nil {
		return err
	}
	found, err := w.HasToken()
	if err == nil && !found {
		err = fmt.Errorf("%s holds no Proxmox API token: run `pulumi config set --stack %s --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without", workspace.Nearby(w.StackFile()), w.Stack)
	}
	return err
}

// checkPassphrase looks where the CLI does (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go, readPassphrase): an
// empty passphrase is one.
func checkPassphrase() error {
	if _, found := os.LookupEnv("PULUMI_CONFIG_PASSPHRASE"); found {
		return nil
	}
	file := os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE")
	if file == "" {
		return errors.New("the passphrase of the stack's secrets is not set: put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without")
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the file that PULUMI_CONFIG_PASSPHRASE_FILE names is not there (%w): correct the name, or add --lab to rehearse without", err)
	}
	return nil
}

// enterLab moves the session of a rehearsal onto the lab's network.
func (s *session) enterLab(ctx context.Context, wanted want) (lab.Description, error) {
	if !s.workspace.Rehearsed {
		return lab.Description{}, nil
	}
	if wanted.startLab {
		if err := startLab(ctx, s.workspace, s.inventory, wanted.choices, s.out); err != nil {
			return lab.Description{}, err
		}
	}
	d, err := runningLab(s.workspace)
	if err != nil {
		return d, err
	}
	moved, err := s.inventory.Rebase(d.Network)
	if err != nil {
		return d, refused(fmt.Errorf("the lab was made for another network (%w): set network.cidr back, or delete %s to begin anew", err, workspace.Nearby(s.workspace.Dir)))
	}
	s.inventory = moved
	return d, nil
}

func (s *session) selectStack(ctx context.Context, tools *toolchain.Installed, create bool) error {
	if err := s.attach(tools); err != nil {
		return err
	}
	s.program = stacks.Options{
		Root: s.workspace.Root, Inventory: s.workspace.Inventory, Secrets: readSecrets, Interrupted: ctx.Done(),
		Plugins:      tools.Plugins(),
		Planned:      s.configured.Take,
		AllowReplace: controlPlaneNames(s.inventory), // until it is judged what that would mean
	}
	embedding := stacks.Embedding{
		Stack:   s.workspace.Stack,
		WorkDir: s.workspace.Dir,
		Env:     s.state.Env,
		Command: s.state.Command,
		Program: stacks.Program(s.program),
	}
	var err error
	s.stack, err = stacks.Select(ctx, embedding)
	if !errors.Is(err, stacks.ErrNoStack) {
		return said(err)
	}
	if err := s.checkNotLost(); err != nil {
		return refused(err)
	}
	if !create {
		return refused(fmt.Errorf("there is no state of stack %s: nothing was ever brought up; `em-infra up` does that", s.workspace.Stack))
	}
	s.stack, err = stacks.Upsert(ctx, embedding)
	return said(err)
}

// attach finds the engine's CLI among the tools, and with it the stack's state, which is whole from then on.
func (s *session) attach(tools *toolchain.Installed) error {
	if err := s.mendState(); err != nil {
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
	if tool, err := os.Executable(); err == nil {
		env[toolVariable] = tool // the program's Commands call this very program
	}
	env[optionRefresh] = strconv.FormatBool(s.refresh)
	s.state = engine.State{Command: command, Dir: s.workspace.Dir, Env: env, Stack: s.workspace.Stack, SecretsProvider: provider}
	return nil
}

// optionRefresh is the environment variable that the CLI takes for the flag --refresh of preview, up and destroy (pulumi
// pkg/v3 v3.254.0, cmd/pulumi/pulumi.go, declareFlagsAsEnvironmentVariables). It goes before the option of Pulumi.yaml, and
// the Automation API has no other way to say no.
const optionRefresh = "PULUMI_OPTION_REFRESH"

var errNoCLI = errors.New("the tool chain holds no Pulumi CLI: run `em-infra tools install`")

// cli is the Pulumi CLI among the tools.
func cli(tools *toolchain.Installed) (*engine.Command, error) {
	tool, found := tools.CLI()
	if !found {
		return nil, errNoCLI
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
		return said(err)
	}
	if s.workspace.Rehearsed {
		wanted := rehearsalConfig(s.workspace, rehearsed)
		if differs(config, wanted) {
			if err := s.stack.SetAllConfig(ctx, wanted); err != nil {
				return said(err)
			}
			config = wanted
		}
	}
	if _, moved := config[stacks.Key(stacks.KeyLabNetwork)]; moved && !s.workspace.Rehearsed {
		return refused(fmt.Errorf("%s sets %s, which moves the nodes to a rehearsal's network: remove it, or add --lab to rehearse", workspace.Nearby(s.workspace.StackFile()), stacks.Key(stacks.KeyLabNetwork)))
	}
	s.host, s.secrets = connectionOf(config), secretsIn(config)
	s.factory = cmp.Or(config[stacks.Key(stacks.KeyImageFactoryURL)].Value, components.ImageFactory)
	return nil
}

func connectionOf(config auto.ConfigMap) pve.Connection {
	return pve.Connection{
		Endpoint: pve.Origin(config[stacks.Key(stacks.KeyProxmoxEndpoint)].Value),
		Token:    config[stacks.Key(stacks.KeyProxmoxToken)].Value,
		Insecure: config[stacks.Key(stacks.KeyProxmoxInsecure)].Value == "true",
	}
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
