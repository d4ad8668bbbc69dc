package rotation_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

var (
	noon     = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	oldCA    = base64.StdEncoding.EncodeToString([]byte("the certificate of before"))
	newCA    = base64.StdEncoding.EncodeToString([]byte("the certificate of now"))
	replaced = rotation.Replacements{{Old: oldCA, New: newCA}, {Old: "abcdef.0123456789abcdef", New: "fedcba.fedcba9876543210"}}
)

// secret marks a value as a secret, as a deployment in clear has it.
func secret(t *testing.T, value any) map[string]any {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return map[string]any{sig.Key: sig.Secret, "plaintext": string(text)}
}

// deployment returns a state that contains a CA and a token wherever a state may have them.
func deployment(t *testing.T, ca, joinToken string) apitype.DeploymentV3 {
	t.Helper()
	urn := func(kind, name string) resource.URN {
		return resource.URN("urn:pulumi:k3s-dev::em-infra::" + kind + "::" + name)
	}
	configuration := secret(t, "machine:\n  token: "+joinToken+"\n  ca:\n    crt: "+ca+"\n    key: \"\"\n")
	digest := sha256.Sum256([]byte(ca))
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: urn("pulumi:pulumi:Stack", "em-infra-k3s-dev"), Type: "pulumi:pulumi:Stack", Outputs: map[string]any{"talosconfig": secret(t, "ca: "+ca+"\n")}},
		{URN: urn(string(token.Secrets), "secrets"), Type: token.Secrets, Outputs: map[string]any{
			"machineSecrets": map[string]any{"certs": map[string]any{"os": map[string]any{"cert": ca, "key": secret(t, "a key that stays")}}},
			"__pulumi_raw_state_delta": map[string]any{"obj": map[string]any{"ps": map[string]any{
				"machineSecrets": secret(t, map[string]any{"replace": map[string]any{"raw": map[string]any{"cert": ca}}}),
			}}},
		}},
		{URN: urn(string(token.Configuration), "one"), Type: token.Configuration, Inputs: map[string]any{"machineConfigurationInput": configuration}, Outputs: map[string]any{"machineConfiguration": configuration}},
		{URN: urn(string(token.Kubeconfig), "kubeconfig"), Type: token.Kubeconfig, ReplacementTrigger: hex.EncodeToString(digest[:]), Outputs: map[string]any{"vmId": 102.0}},
	}}
}

// TestTheStateIsAsIfItHadBeenMadeWithTheNewSecrets: what a bridged provider keeps for itself, too, since it hides the outputs.
func TestTheStateIsAsIfItHadBeenMadeWithTheNewSecrets(t *testing.T) {
	t.Parallel()
	changed := deployment(t, oldCA, "abcdef.0123456789abcdef")
	for range 2 { // it can be repeated
		require.NoError(t, replaced.In(&changed))
		require.Equal(t, deployment(t, newCA, "fedcba.fedcba9876543210"), changed)
	}
}

func TestWhatCannotBeReplacedIsRefusedAndNotQuoted(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]rotation.Replacement{
		"short":        {Old: "hunter2", New: newCA},
		"in lines":     {Old: "hunter2 hunter2\nhunter2", New: newCA},
		"new in lines": {Old: oldCA, New: "hunter2 hunter2\nhunter2"},
		"missing":      {New: newCA},
		"grown":        {Old: oldCA, New: oldCA + "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const want = "a machine secret has a form that cannot be replaced in the state: restore the state from a backup"
			changed := deployment(t, oldCA, "abcdef.0123456789abcdef")
			require.EqualError(t, rotation.Replacements{one}.In(&changed), want)
			require.EqualError(t, rotation.Note{What: "talos-ca", Replacements: rotation.Replacements{one}}.In(&changed), want)
			require.Equal(t, deployment(t, oldCA, "abcdef.0123456789abcdef"), changed)
		})
	}
}

// TestANoteOutlivesTheChangeThatItIsAbout: it keeps the old secrets until it is removed, and nothing of it is in clear.
func TestANoteOutlivesTheChangeThatItIsAbout(t *testing.T) {
	t.Parallel()
	state := deployment(t, oldCA, "abcdef.0123456789abcdef")
	require.Empty(t, rotation.Begun(state))
	none, err := rotation.NoteIn(state)
	require.NoError(t, err)
	require.Nil(t, none)

	note := rotation.Note{What: "talos-ca", Begun: noon, Replacements: replaced}
	require.NoError(t, note.In(&state))
	note.Done = 2
	require.NoError(t, note.In(&state), "instead of the one from before")
	require.NoError(t, replaced.In(&state))
	found, err := rotation.NoteIn(state)
	require.NoError(t, err)
	require.Equal(t, &note, found)
	require.Equal(t, "talos-ca", rotation.Begun(state))

	resource := state.Resources[len(state.Resources)-1]
	require.Equal(t, "urn:pulumi:k3s-dev::em-infra::em-infra:index:Rotation::rotate-talos-ca", string(resource.URN))
	require.Equal(t, state.Resources[0].URN, resource.Parent)
	require.True(t, resource.Protect, "the engine would delete it, since no program has it")
	require.True(t, propertymap.IsSecret(resource.Outputs["note"]))

	rotation.Remove(&state)
	require.Equal(t, deployment(t, newCA, "fedcba.fedcba9876543210"), state)
}

// TestASealedNoteSaysWhatIsRotated: what is rotated can be read without the passphrase, too, so that a user can be asked to go on with the
// rotation.
func TestASealedNoteSaysWhatIsRotated(t *testing.T) {
	t.Parallel()
	state := deployment(t, oldCA, "abcdef.0123456789abcdef")
	require.NoError(t, rotation.Note{What: "talos-ca", Begun: noon, Replacements: replaced}.In(&state))
	text, err := json.Marshal(state.Resources[len(state.Resources)-1])
	require.NoError(t, err)
	var sealed apitype.ResourceV3
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"plaintext"`, `"ciphertext"`)), &sealed))
	state.Resources[len(state.Resources)-1] = sealed
	require.Equal(t, "talos-ca", rotation.Begun(state))
	_, err = rotation.NoteIn(state)
	require.EqualError(t, err, "the note of a rotation in the state cannot be read: restore the state from a backup")
}
