package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

// TestE2EStateIsReadAsTheCLIReadsIt: the state read from its folder equals the CLI's export.
func TestE2EStateIsReadAsTheCLIReadsIt(t *testing.T) {
	t.Parallel()
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
