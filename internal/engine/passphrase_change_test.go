package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

// TestANewPassphraseGoesThroughAPipe: neither arguments nor environment of the CLI have it.
func TestANewPassphraseGoesThroughAPipe(t *testing.T) {
	t.Parallel()
	state, file := stateOf(t, `{"version": 4, "deployment": {}}`)
	require.NoError(t, state.ChangePassphrase(t.Context(), engine.NewPassphrase("correct horse")))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var seen call
	require.NoError(t, json.Unmarshal(text, &seen))
	require.Equal(t, []string{"--non-interactive", "stack", "change-secrets-provider", "passphrase", "--stack", "k3s-dev"}, seen.Args)
	require.Equal(t, "correct horse\n", seen.Stdin)
	require.NotContains(t, strings.Join(seen.Env, "\n"), "correct horse")
}

func TestWithWhichPassphraseAStateIsSealed(t *testing.T) {
	t.Parallel()
	const salt = `v1:5UO+Q8Mx3Q8=:v1:x`
	sealed, err := engine.State{Stack: "k3s-dev"}.Read([]byte(`{"version": 3, "deployment": {"secrets_providers": {"type": "passphrase", "state": {"salt": "` + newSealer(t, "correct horse").salt + `"}}}}`))
	require.NoError(t, err)
	require.True(t, sealed.IsSealedWith(engine.NewPassphrase("correct horse")))
	require.False(t, sealed.IsSealedWith(engine.NewPassphrase("battery staple")))
	for _, deployment := range []string{`{}`, `{"secrets_providers": {"type": "cloud"}}`, `{"secrets_providers": {"type": "passphrase", "state": {"salt": "` + salt + `"}}}`, `{"secrets_providers": {"type": "passphrase", "state": 1}}`} {
		exported, err := engine.State{Stack: "k3s-dev"}.Read([]byte(`{"version": 3, "deployment": ` + deployment + `}`))
		require.NoError(t, err)
		require.False(t, exported.IsSealedWith(engine.NewPassphrase("correct horse")), deployment)
		require.False(t, exported.IsSealedWith(nil), deployment)
	}
}

// TestConfigIsSealedAnew: what the present passphrase does not open stays as it is, and a file without secrets does not need it.
func TestConfigIsSealedAnew(t *testing.T) {
	t.Parallel()
	state, _ := folder(t, "correct horse")
	state.Project = "em-infra"
	staple := engine.NewPassphrase("battery staple")
	write(t, filepath.Join(state.Dir, "Pulumi.yaml"), "name: em-infra\nruntime: go\n")
	file := filepath.Join(state.Dir, "Pulumi.k3s-dev.yaml")
	s := newSealer(t, "correct horse")
	write(t, file, "encryptionsalt: "+s.salt+"\nconfig:\n  em-infra:kept: here\n  em-infra:proxmoxToken:\n    secure: "+s.seal("secret")+"\n")
	require.False(t, state.ConfigIsSealedWith(staple))
	require.NoError(t, state.SealConfig(t.Context(), staple))
	require.True(t, state.ConfigIsSealedWith(staple))
	values, read := state.SealedWith(staple).Config()
	require.True(t, read)
	require.Equal(t, auto.ConfigMap{"em-infra:kept": {Value: "here"}, "em-infra:proxmoxToken": {Value: "secret", Secret: true}}, values)

	sealed, err := os.ReadFile(file)
	require.NoError(t, err)
	require.EqualError(t, state.SealConfig(t.Context(), staple), "the secrets are not sealed with this passphrase")
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(sealed), string(after))

	write(t, file, "encryptionsalt: "+newSealer(t, "a third one").salt+"\nconfig:\n  em-infra:kept: here\n")
	require.False(t, state.ConfigIsSealedWith(staple), "the CLI asks the salt, with secrets and without")
	require.NoError(t, state.SealConfig(t.Context(), staple))
	require.True(t, state.ConfigIsSealedWith(staple))
}
