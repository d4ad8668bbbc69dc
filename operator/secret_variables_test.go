package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/operator"
)

// TestThePassphraseMayBeInTheFileOfSecrets: an operation finds it there, or its error is why it does not. Variables of the environment win.
func TestThePassphraseMayBeInTheFileOfSecrets(t *testing.T) {
	folder, key := t.TempDir(), sopstest.NewKey(t)
	t.Chdir(folder)
	for _, name := range []string{"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		unset(t, name)
	}
	t.Setenv(secrets.KeyVariable, key.String())
	write(t, "Pulumi.yaml", "name: em-infra\nruntime: go\n")
	write(t, "Pulumi.home.yaml", "config: {em-infra:inventory: .}\n")
	write(t, secrets.File, sopstest.Encrypt(t, "pulumi: {passphrase: made up}\nstate: {accessKeyId: id, secretAccessKey: key}\n", key))
	rotate := operator.RotatePassphraseOptions{NewPassphrase: "another"}

	o, set := completed(t)
	require.Equal(t, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}, set)
	_, err := o.RotatePassphrase(t.Context(), rotate)
	refusal := new(operator.RefusedError)
	require.ErrorAs(t, err, &refusal)
	require.EqualError(t, err, "the passphrase is pulumi.passphrase in secrets.sops.yaml, which this command does not change: set PULUMI_CONFIG_PASSPHRASE_FILE to a file with the passphrase, "+
		"run this again, and then write the new one with `em-infra secrets edit --stack home`")

	other := sopstest.NewKey(t)
	t.Setenv(secrets.KeyVariable, other.String())
	o, set = completed(t)
	require.Empty(t, set)
	_, err = o.RotatePassphrase(t.Context(), rotate)
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.ErrorContains(t, err, "the passphrase of the stack's secrets is not set, and it was looked for in secrets.sops.yaml: secrets.sops.yaml: the age key does not open it: ")

	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "of this shell")
	write(t, "Pulumi.home.yaml", "config: {em-infra:inventory: ., em-infra:backend: 's3://states?region=eu-central-1'}\n")
	o, _ = completed(t)
	_, err = o.Restore(t.Context(), "")
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.ErrorContains(t, err, "the key of the bucket with the state is not set, and it was looked for in secrets.sops.yaml: secrets.sops.yaml: the age key does not open it: ")

	t.Setenv("AWS_PROFILE", "home")
	_, set = completed(t)
	require.Empty(t, set, "the file is not even decrypted")
}

// completed opens the stack and returns what it takes from the file of secrets.
func completed(t *testing.T) (*operator.Operator, map[string]string) {
	t.Helper()
	o, err := operator.Open(operator.Options{Stack: "home", Yes: true})
	require.NoError(t, err)
	set := map[string]string{}
	require.NoError(t, o.CompleteEnvironment(func(name, value string) error {
		set[name] = value
		return nil
	}))
	return o, set
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Clean(name), []byte(text), 0o600))
}

// unset unsets a variable until the test ends.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	require.NoError(t, os.Unsetenv(name))
}
