package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// TestE2EStateIsReadAsTheCLIReadsIt: the state read from its folder equals the CLI's export.
func TestE2EStateIsReadAsTheCLIReadsIt(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	here, ofCLI := r.engineState(), r.engineState()
	ofCLI.Project = "" // then the CLI is asked

	have, err := here.Export(t.Context())
	require.NoError(t, err)
	want, err := ofCLI.Export(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, want.Deployment.Resources)
	again, err := have.Copy()
	require.NoError(t, err)
	for _, read := range []*engine.Exported{have, again} {
		require.True(t, jsonOf(t, read.Deployment) == jsonOf(t, want.Deployment), "the deployment, with secrets that nobody prints")
	}

	sealed, err := here.ExportSealed(t.Context())
	require.NoError(t, err)
	wantSealed, err := ofCLI.ExportSealed(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(wantSealed), string(sealed))

	last, err := here.LastUpdate(t.Context())
	require.NoError(t, err)
	wantLast, err := ofCLI.LastUpdate(t.Context())
	require.NoError(t, err)
	require.Equal(t, wantLast, last)

	config, read := here.Config()
	require.True(t, read)
	stack := r.plainEngine()
	wantConfig, err := stack.GetAllConfig(t.Context())
	require.NoError(t, err)
	require.True(t, jsonOf(t, wantConfig) == jsonOf(t, config), "the configuration, with secrets that nobody prints")
	require.Zero(t, here.Command.Runs(), "no process of the CLI")
	require.EqualValues(t, 3, ofCLI.Command.Runs())

	r.outputsAreShown()
	r.resourcesAreShown(want)
}

// outputsAreShown: a secret on request alone, and one value as a script wants it.
func (r *rehearsal) outputsAreShown() {
	r.t.Helper()
	worker := r.mustRun(0, "outputs", "talosNodeAddresses", "--lab")
	require.Regexp(r.t, `^\{"[^"]+-control-1":"[0-9.]+","[^"]+-worker-1":"[0-9.]+"\}\n$`, worker)
	all := r.mustRun(0, "outputs", "--lab")
	require.Contains(r.t, all, strings.TrimSpace(worker))
	require.Regexp(r.t, `(?m)^kubeconfig +\[secret\]$`, all)
	require.Contains(r.t, r.mustRun(3, "outputs", "kubeconfig", "--lab"), "kubeconfig is a secret: add --show-secrets to print it\n")
	require.Contains(r.t, r.mustRun(0, "outputs", "kubeconfig", "--lab", "--show-secrets"), "apiVersion: v1")
	require.Contains(r.t, r.mustRun(3, "outputs", "ip", "--lab"), `has no output "ip": choose one that `+"`em-infra outputs --stack "+r.stack)
}

// resourcesAreShown: each but the stack and the providers, a component before what it is made of.
func (r *rehearsal) resourcesAreShown(want *engine.Exported) {
	r.t.Helper()
	var listed []operator.Resource
	require.NoError(r.t, json.Unmarshal([]byte(r.mustRun(0, "resources", "--lab", "--output", "json")), &listed))
	var urns, wanted []string
	depths := map[string]int{}
	for _, one := range listed {
		urns, depths[one.URN] = append(urns, one.URN), one.Depth
	}
	for _, one := range want.Deployment.Resources {
		if one.Type != resource.RootStackType && !strings.HasPrefix(string(one.Type), "pulumi:providers:") {
			wanted = append(wanted, string(one.URN))
			if parent, contained := depths[string(one.Parent)]; contained {
				require.Equal(r.t, parent+1, depths[string(one.URN)], one.URN)
			}
		}
	}
	require.ElementsMatch(r.t, wanted, urns)
	require.Regexp(r.t, `(?m)^    [^ ]+ +VirtualMachine *$`, r.mustRun(0, "resources", "--lab"))
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// engineState returns the rehearsal's state, with a CLI of its own.
func (r *rehearsal) engineState() engine.State {
	r.t.Helper()
	tools, err := toolchain.Install(r.t.Context(), toolchain.Options{Source: r.root})
	require.NoError(r.t, err)
	tool, found := tools.CLI()
	require.True(r.t, found)
	w, err := workspace.Rehearsal(r.root, r.stack, r.inventory)
	require.NoError(r.t, err)
	env := w.Environment()
	return engine.State{
		Command: engine.NewCommand(tool.Path, semver.MustParse("3.254.0")), Dir: w.Dir, Env: env, Project: workspace.Project, Stack: r.stack,
		Passphrase: engine.PassphraseIn(env),
	}
}
