package engine_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

// stateOf returns the state of a CLI of role store, whose state is the text; file is where that lies.
func stateOf(t *testing.T, text string) (state engine.State, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return engine.State{
		Command: cli(t), Dir: t.TempDir(), Stack: "k3s-dev",
		Env: map[string]string{roleVariable: "store", "EM_INFRA_TEST_STATE": file},
	}, file
}

func TestStatePassesThroughPipesOnly(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	secret := rand.Text()
	state, file := stateOf(t, `{"version": 4, "features": ["hooks"], "deployment": {
		"manifest": {"time": "2026-01-02T03:04:05Z", "magic": "m", "version": "v3.254.0"},
		"resources": [{"urn": "urn:pulumi:k3s-dev::em-infra::a:b:C::d", "custom": true, "type": "a:b:C", "outputs": {"token": "`+secret+`"}}],
		"pending_operations": [{"type": "creating", "resource": {"urn": "urn:pulumi:k3s-dev::em-infra::a:b:C::e", "custom": true, "type": "a:b:C"}}]}}`)

	exported, err := state.Export(t.Context())
	require.NoError(t, err)
	require.Equal(t, secret, exported.Deployment.Resources[0].Outputs["token"])
	exported.Deployment.PendingOperations = nil
	require.NoError(t, state.Import(t.Context(), exported))

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var seen call
	require.NoError(t, json.Unmarshal(text, &seen))
	require.Equal(t, []string{"--non-interactive", "stack", "import", "--stack", "k3s-dev"}, seen.Args)
	require.NotContains(t, strings.Join(seen.Env, "\n"), secret)
	var imported struct {
		Version    int
		Features   []string
		Deployment apitype.DeploymentV3
	}
	require.NoError(t, json.Unmarshal([]byte(seen.Stdin), &imported))
	require.Equal(t, 4, imported.Version, "the format stays")
	require.Equal(t, []string{"hooks"}, imported.Features)
	require.Equal(t, exported.Deployment, imported.Deployment)

	for _, folder := range []string{temporary, state.Dir} {
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, left, "no file is made on the way")
	}
}

func TestExportRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, state, err string }{
		{
			"newer format", `{"version": 5, "deployment": {"resources": 7}}`,
			"the state of k3s-dev has format 5, newer than 4: use an em-infra as new as the Pulumi CLI that wrote it",
		},
		{
			"unknown feature", `{"version": 4, "features": ["views", "telepathy"], "deployment": {}}`,
			`the state of k3s-dev uses "telepathy", which is unknown here: use an em-infra as new as the Pulumi CLI that wrote it`,
		},
		{"no JSON", `nonsense`, "export the state of k3s-dev: invalid character 'o' in literal null (expecting 'u')"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state, _ := stateOf(t, test.state)
			exported, err := state.Export(t.Context())
			require.EqualError(t, err, test.err)
			require.Nil(t, exported)
		})
	}
}

func TestExportOfAnEmptyStack(t *testing.T) {
	t.Parallel()
	state, _ := stateOf(t, `{"version": 3}`)
	exported, err := state.Export(t.Context())
	require.NoError(t, err)
	require.Equal(t, apitype.DeploymentV3{}, exported.Deployment)
}

func TestExportSaysWhatTheCLISaid(t *testing.T) {
	t.Parallel()
	state, file := stateOf(t, "")
	require.NoError(t, os.Remove(file))
	_, err := state.Export(t.Context())
	require.EqualError(t, err, "export the state of k3s-dev: exit status 1: error: open "+file+": no such file or directory")
}

func TestExportSealedReturnsTheTextAsItIs(t *testing.T) {
	t.Parallel()
	const text = `{"version": 3, "deployment": {"resources": []}}`
	state, _ := stateOf(t, text)
	sealed, err := state.ExportSealed(t.Context())
	require.NoError(t, err)
	require.Equal(t, text, string(sealed))
}

func TestExportOfNoStack(t *testing.T) {
	t.Parallel()
	state := stateOfRole(t, "stackless")
	_, err := state.Export(t.Context())
	require.ErrorIs(t, err, engine.ErrNoStack)
	require.EqualError(t, err, "export the state of k3s-dev: there is no such stack: error: no stack named 'k3s-dev' found")
}

// stateOfRole returns the state of a CLI in a role.
func stateOfRole(t *testing.T, name string) engine.State {
	t.Helper()
	return engine.State{Command: cli(t), Dir: t.TempDir(), Stack: "k3s-dev", Env: map[string]string{roleVariable: name}}
}

func TestStacksInTheSamePlace(t *testing.T) {
	t.Parallel()
	stacks, err := stateOfRole(t, "listing").Stacks(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"k3s-dev", "k3s-prod"}, stacks)
	_, err = stateOfRole(t, "failing").Stacks(t.Context())
	require.EqualError(t, err, "list the stacks: exit status 3: error: no such stack")
}

func TestWhatIsDoneToAStateIsAskedOfTheCLI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		do       func(engine.State) error
		provider string
		args     []string
		failure  string
	}{
		{"create", func(s engine.State) error { return s.Create(t.Context()) }, "", []string{"stack", "init", "k3s-dev"}, "make a state for k3s-dev"},
		{
			"create with a provider", func(s engine.State) error { return s.Create(t.Context()) }, "awskms://alias/states",
			[]string{"stack", "init", "k3s-dev", "--secrets-provider", "awskms://alias/states"},
			"make a state for k3s-dev",
		},
		{
			"remove", func(s engine.State) error { return s.Remove(t.Context()) }, "",
			[]string{"stack", "rm", "--stack", "k3s-dev", "--force", "--preserve-config", "--yes"},
			"remove the state of k3s-dev",
		},
		{"unlock", func(s engine.State) error { return s.Unlock(t.Context()) }, "", []string{"cancel", "--yes", "--stack", "k3s-dev"}, "unlock the state of k3s-dev"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := stateOfRole(t, "diary")
			state.SecretsProvider = test.provider
			state.Env["EM_INFRA_TEST_STATE"] = filepath.Join(t.TempDir(), "calls")
			require.NoError(t, test.do(state))
			text, err := os.ReadFile(state.Env["EM_INFRA_TEST_STATE"])
			require.NoError(t, err)
			require.Equal(t, append([]string{"--non-interactive"}, test.args...), strings.Split(string(text), "\n"))

			state = stateOfRole(t, "failing")
			require.EqualError(t, test.do(state), test.failure+": exit status 3: error: no such stack")
		})
	}
}

func TestACopyIsWhatWasExported(t *testing.T) {
	t.Parallel()
	state, _ := stateOf(t, `{"version": 3, "deployment": {"resources": [{"urn": "urn:pulumi:k3s-dev::em-infra::a:b:C::d", "type": "a:b:C"}]}}`)
	exported, err := state.Export(t.Context())
	require.NoError(t, err)
	exported.Deployment.Resources[0].URN, exported.Deployment.Resources = "changed", append(exported.Deployment.Resources, apitype.ResourceV3{})

	copied, err := exported.Copy()
	require.NoError(t, err)
	require.Len(t, copied.Deployment.Resources, 1)
	require.Equal(t, "urn:pulumi:k3s-dev::em-infra::a:b:C::d", string(copied.Deployment.Resources[0].URN))
}
