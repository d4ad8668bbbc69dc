package engine_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

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
