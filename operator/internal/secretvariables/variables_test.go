package secretvariables_test

import (
	"os"
	"path/filepath"
	"testing"

	ageidentity "filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/operator/internal/secretvariables"
)

const file = `pulumi: {passphrase: made up}
proxmox: {apiToken: another}
state:
  accessKeyId: id
  secretAccessKey: key
`

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		set        []string // NAME, or NAME= for one that is empty
		want       map[string]string
	}{
		{"all of them", file, nil, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}},
		{"a passphrase that is set wins", file, []string{"PULUMI_CONFIG_PASSPHRASE"}, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}},
		{"so does a file with it", file, []string{"PULUMI_CONFIG_PASSPHRASE_FILE"}, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}},
		{"an empty passphrase is one", file, []string{"PULUMI_CONFIG_PASSPHRASE="}, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}},
		{"a profile is a key", file, []string{"AWS_PROFILE"}, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up"}},
		{"a key that is set wins", file, []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up"}},
		{"half a key does not", file, []string{"AWS_SECRET_ACCESS_KEY"}, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}},
		{
			"nor do secrets that a pipeline does not have", file, []string{"PULUMI_CONFIG_PASSPHRASE_FILE=", "AWS_PROFILE=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="},
			map[string]string{"PULUMI_CONFIG_PASSPHRASE": "made up", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"},
		},
		{"values that were not entered yet", "pulumi: {passphrase: \"\"}\n", nil, map[string]string{}},
		{"a file without any", "proxmox: {apiToken: another}\n", nil, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := sopstest.NewKey(t)
			found, err := secretvariables.Find(folder(t, sopstest.Encrypt(t, c.file, key)), keysOf(t, key), environment(c.set))
			require.NoError(t, err)
			values := map[string]string{}
			for _, each := range found {
				values[each.Name] = each.Value.Reveal()
			}
			require.Equal(t, c.want, values)
		})
	}
}

// TestNoKeyIsNeeded: only a file that has something to take is decrypted.
func TestNoKeyIsNeeded(t *testing.T) {
	t.Parallel()
	none := secrets.KeysOf(func(string) string { return "" }, "")
	found, err := secretvariables.Find(t.TempDir(), none, environment(nil))
	require.NoError(t, err)
	require.Empty(t, found)

	key := sopstest.NewKey(t)
	other := folder(t, sopstest.Encrypt(t, "proxmox: {apiToken: another}\n", key))
	found, err = secretvariables.Find(other, none, environment(nil))
	require.NoError(t, err)
	require.Empty(t, found)

	whole := folder(t, sopstest.Encrypt(t, file, key))
	_, err = secretvariables.Find(whole, none, environment(nil))
	require.ErrorIs(t, err, secrets.ErrNoKey)
	found, err = secretvariables.Find(whole, none, environment([]string{"PULUMI_CONFIG_PASSPHRASE_FILE", "AWS_PROFILE"}))
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestAFileThatIsNotEncrypted(t *testing.T) {
	t.Parallel()
	_, err := secretvariables.Find(folder(t, file), secrets.KeysOf(func(string) string { return "" }, ""), environment(nil))
	require.ErrorIs(t, err, secrets.ErrNotEncrypted)
	require.NotContains(t, err.Error(), "made up")
}

func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, secrets.File), []byte(text), 0o600))
	return dir
}

func keysOf(t *testing.T, key *ageidentity.X25519Identity) secrets.Keys {
	t.Helper()
	return secrets.KeysOf(func(name string) string {
		if name == "SOPS_AGE_KEY" {
			return key.String()
		}
		return ""
	}, t.TempDir())
}

func environment(set []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, each := range set {
			switch each {
			case name:
				return "set", true
			case name + "=":
				return "", true
			}
		}
		return "", false
	}
}
