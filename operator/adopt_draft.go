package operator

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// draft is a state in a folder of its own, in which a cluster is recorded before the stack's state is written.
type draft struct {
	*Operator

	folder string
	claim  *flock.Flock
}

// openDraft returns an empty draft. What a killed run has left is removed.
func (o *Operator) openDraft() (*draft, error) {
	folder := filepath.Join(o.workspace.Home, "adoption")
	claim := flock.New(folder+".lock", flock.SetPermissions(0o600))
	claimed, err := claim.TryLock()
	if err == nil && !claimed {
		err = refused(errors.New("another adopt works on this stack: wait for it to end, then run adopt again"))
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, errors.Join(err, claim.Unlock())
	}
	inner, within := *o, *o.workspace.At("file://" + folder)
	within.Backups = filepath.Join(folder, "backups")
	inner.workspace = &within
	return &draft{Operator: &inner, folder: folder, claim: claim}, nil
}

// close removes the draft. Its secrets are sealed, so a failure leaves nothing in clear.
func (d *draft) close() {
	_ = os.RemoveAll(d.folder)
	_ = d.claim.Unlock()
}

// adopt records the cluster, and looks at what an up would do with the result.
func (d *draft) adopt(ctx context.Context, options AdoptOptions) (*Adopted, *engine.Exported, error) {
	s, err := d.begin(ctx, needs{newStack: true})
	if err != nil {
		return nil, nil, err
	}
	survey, secrets, err := surveyor{
		stack: s.workspace.Stack, place: s.place, inventory: s.inventory, host: s.host, talosconfig: s.credentials().talosconfig(), options: options, now: s.clock.Now,
	}.survey(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.recovered(survey.Notes()...)
	recorder := &adoption.Recorder{Secrets: secrets}
	if err := d.record(ctx, s.engine, recorder, survey.Births()); err != nil {
		return nil, nil, err
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	adopted := &Adopted{}
	for _, urn := range recorder.Absent() {
		adopted.Absent = append(adopted.Absent, urn.Name())
	}
	adoption.Without(&exported.Deployment, recorder.Absent())
	if err := s.state.Import(ctx, exported); err != nil {
		return nil, nil, err
	}
	adopted.Resources = len(exported.Deployment.Resources)
	adopted.Preview, err = d.Preview(ctx, PreviewOptions{})
	if err != nil {
		return nil, nil, err
	}
	var nodes []string
	for _, node := range s.inventory.Nodes {
		nodes = append(nodes, node.Name)
	}
	return adopted, exported, refuseLosses(adopted.Preview, nodes, s.place.Stack)
}

// record runs the program with providers that answer with what exists. births are the birth identifiers of the machines, in the order of
// the inventory; empty for a machine that does not exist.
func (d *draft) record(ctx context.Context, on *stackEngine, recorder *adoption.Recorder, births []string) error {
	tools, err := d.installTools(ctx)
	if err != nil {
		return err
	}
	plugins := pluginsOf(tools, d.workspace, on.state.Env)
	if err := adoption.CheckAll(d.workspace.Home, plugins); err != nil {
		return refused(err)
	}
	gateway, err := adoption.Open(plugins, recorder)
	if err != nil {
		return err
	}
	defer gateway.Close()
	on.stack.Workspace().SetEnvVar(adoption.Variable, gateway.Value())
	on.program.Stands, on.program.AllowReplace = true, nil
	on.program.NewBirth = func() string { // once for each node, in the order of the inventory
		birth := births[0]
		if births = births[1:]; birth == "" {
			return uuid.NewString()
		}
		return birth
	}
	on.setProgram(on.program.Until)
	_, err = on.silently(ctx, opAdopt, func(run engineRun) error {
		_, err := on.stack.Up(ctx, optup.SuppressOutputs(), optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))
		return err
	})
	return err
}

// pluginsOf returns all plugins in the PULUMI_HOME of a stack, those of the tool chain and em-infra itself, with the variables and the folder
// of its engine. A run recognizes plugins by their path in the PULUMI_HOME, and ends those that were left behind.
func pluginsOf(tools *toolchain.Installed, of *workspace.Workspace, env map[string]string) []adoption.Plugin {
	environment := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		environment = append(environment, name+"="+env[name])
	}
	plugins := []adoption.Plugin{{Name: provider.Name, Path: provider.Executable(of.Home), Env: environment, Dir: of.Dir}}
	for _, tool := range tools.Tools {
		if tool.Kind == toolchain.Plugin {
			plugins = append(plugins, adoption.Plugin{Name: tool.Name, Path: tool.In(of.Home), Env: environment, Dir: of.Dir})
		}
	}
	return plugins
}
