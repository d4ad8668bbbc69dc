package state_test

import (
	"crypto/rand"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
)

func TestSecretTexts(t *testing.T) {
	t.Parallel()
	one, two, three := rand.Text(), rand.Text(), rand.Text()
	found, err := state.SecretTexts(deployment(
		apitype.ResourceV3{Inputs: properties{"plain": "seen", "token": sealed(t, one)}},
		apitype.ResourceV3{Outputs: properties{"nested": properties{"list": []any{sealed(t, properties{"key": two, "list": []any{three, 7}})}}}},
	))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{one, two, three}, found)
}

func TestSecretTextsOfAnEncryptedState(t *testing.T) {
	t.Parallel()
	_, err := state.SecretTexts(deployment(apitype.ResourceV3{Inputs: properties{"token": encrypted()}}))
	require.EqualError(t, err, "a secret in the state is not in clear: export it with its secrets")
}
