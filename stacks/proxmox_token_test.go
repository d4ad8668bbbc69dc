package stacks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

// TestWhereTheTokenIs: the environment wins over the stack's configuration, and that over secrets.sops.yaml, which is then not read.
func TestWhereTheTokenIs(t *testing.T) {
	unreadable := errors.New("no age key opens it: set SOPS_AGE_KEY_FILE")
	holds := func(token string) stacks.SecretsReader {
		return func(context.Context, string) (map[string]string, error) {
			return map[string]string{"proxmox.apiToken": token}, nil
		}
	}
	closed := func(context.Context, string) (map[string]string, error) { return nil, unreadable }
	for _, test := range []struct {
		name, environment, configured string
		read                          stacks.SecretsReader
		token                         string
		place                         stacks.TokenPlace
		err                           error
	}{
		{"environment", "a@pve!x=1", "b@pve!x=1", closed, "a@pve!x=1", stacks.TokenInEnvironment, nil},
		{"configuration", "", "b@pve!x=1", closed, "b@pve!x=1", stacks.TokenInConfiguration, nil},
		{"file", "", "", holds("c@pve!x=1"), "c@pve!x=1", stacks.TokenInSecrets, nil},
		{"nowhere", "", "", holds(""), "", stacks.TokenNowhere, nil},
		{"a file that does not open", "", "", closed, "", stacks.TokenNowhere, unreadable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(stacks.TokenVariable, test.environment)
			token, place, err := stacks.ProxmoxToken(t.Context(), test.configured, "stacks/home", test.read)
			require.Equal(t, test.token, token)
			require.Equal(t, test.place, place)
			require.ErrorIs(t, err, test.err)
		})
	}
	require.Equal(t, "EM_INFRA_PROXMOX_TOKEN", stacks.TokenVariable)
}

// TestTheProgramTakesTheTokenFromEither: as a secret of the provider; a rehearsal has that of its lab, regardless of the environment.
func TestTheProgramTakesTheTokenFromEither(t *testing.T) {
	t.Setenv(stacks.TokenVariable, "")
	inFile := stacks.Options{Root: "..", Secrets: func(context.Context, string) (map[string]string, error) {
		return map[string]string{"proxmox.apiToken": "c@pve!x=made-up"}, nil
	}}
	withoutToken := reachable(nil)
	delete(withoutToken, "em-infra:proxmoxToken")
	tokenOf := func(r *recorder.Recorder, err error) string {
		t.Helper()
		require.NoError(t, err)
		token := r.Named(t, "pulumi:providers:proxmoxve", "proxmox").Inputs["apiToken"]
		require.True(t, token.IsSecret())
		return token.SecretValue().Element.StringValue()
	}
	require.Equal(t, "c@pve!x=made-up", tokenOf(runWith(t, inFile, withoutToken)))

	t.Setenv(stacks.TokenVariable, "a@pve!x=made-up")
	require.Equal(t, "a@pve!x=made-up", tokenOf(runWith(t, inFile, reachable(nil))))
	require.Equal(t, "em-infra@pve!test=made-up", tokenOf(run(t, reachable(map[string]string{"em-infra:labNetwork": "127.20.20.0/24"}))))
}
