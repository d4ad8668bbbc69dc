package secrets_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ageidentity "filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

// encrypted writes a file as sops does, and returns the folder.
func encrypted(t *testing.T, plain string, keys ...*ageidentity.X25519Identity) string {
	t.Helper()
	return folder(t, sopstest.Encrypt(t, plain, keys...))
}

// folder holds a file of that name with any content.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, secrets.File), []byte(text), 0o600))
	return dir
}

// file writes an age key file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// inEnvironment returns the keys of an environment with these variables only.
func inEnvironment(variables map[string]string, configDir string) secrets.Keys {
	return secrets.KeysOf(func(name string) string { return variables[name] }, configDir)
}

const plain = `# where the pool is
truenas:
  apiKey: correct horse battery staple
  host_unencrypted: nas.example
token: "12345"
`

func TestLoad(t *testing.T) {
	t.Parallel()
	key, other := sopstest.NewKey(t), sopstest.NewKey(t)
	dir := encrypted(t, plain, other, key)
	raw, err := os.ReadFile(filepath.Join(dir, secrets.File))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "correct horse")

	configDir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(configDir, "sops/age"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(configDir, "sops/age/keys.txt"), []byte("# mine\n"+key.String()+"\n"), 0o600))
	for place, keys := range map[string]secrets.Keys{
		"variable":            inEnvironment(map[string]string{secrets.KeyVariable: key.String()}, ""),
		"file":                inEnvironment(map[string]string{secrets.KeyFileVariable: file(t, key.String()+"\n")}, ""),
		"the user's own file": inEnvironment(nil, configDir),
		"second of two":       inEnvironment(map[string]string{secrets.KeyVariable: sopstest.NewKey(t).String() + "\n" + key.String()}, t.TempDir()),
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			loaded, err := secrets.Load(dir, keys)
			require.NoError(t, err)
			for path, want := range map[string]string{
				"truenas apiKey": "correct horse battery staple", "truenas host_unencrypted": "nas.example", "token": "12345",
			} {
				secret, found := loaded.Lookup(strings.Fields(path)...)
				require.True(t, found, path)
				require.Equal(t, want, secret.Reveal())
			}
			_, found := loaded.Lookup("truenas")
			require.False(t, found)
			_, found = loaded.Lookup("truenas", "password")
			require.False(t, found)
		})
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	t.Parallel()
	loaded, err := secrets.Load(t.TempDir(), secrets.Keys{})
	require.NoError(t, err)
	_, found := loaded.Lookup("token")
	require.False(t, found)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	key, other := sopstest.NewKey(t), sopstest.NewKey(t)
	dir := encrypted(t, plain, key)
	name := filepath.Join(dir, secrets.File)
	mine := secrets.KeysOf(func(string) string { return "" }, "")
	mine.File = file(t, key.String())
	broken := file(t, "AGE-SECRET-KEY-1NOTREALLY\n")
	foreign := file(t, other.String())
	gone := filepath.Join(t.TempDir(), "keys.txt")

	for title, test := range map[string]struct {
		dir  string
		keys secrets.Keys
		is   error
		want string
	}{
		"no key": {
			dir, inEnvironment(nil, t.TempDir()), secrets.ErrNoKey,
			name + ": no age key was found: set SOPS_AGE_KEY_FILE to the file that holds the key of " + key.Recipient().String(),
		},
		"no key file": {
			dir,
			secrets.Keys{File: gone},
			secrets.ErrNoKey,
			name + ": no age key was found: SOPS_AGE_KEY_FILE names " + gone + ", which is not there: correct it or restore the file",
		},
		"broken key": {
			dir,
			secrets.Keys{File: broken},
			secrets.ErrBadKey,
			name + ": " + broken + ": holds no age key: each line is a comment or AGE-SECRET-KEY-1…, as age-keygen writes it",
		},
		"wrong key": {
			dir,
			secrets.Keys{File: foreign},
			secrets.ErrWrongKey,
			name + ": the age key does not open it: it is encrypted for " + key.Recipient().String() + ", and " + foreign + " holds that of " +
				other.Recipient().String() + ": use the right key, or add this one with `sops updatekeys`",
		},
		"no recipient": {encrypted(t, plain), mine, secrets.ErrNoRecipient, ": is encrypted for no age key: add one with `sops updatekeys`"},
		"not encrypted": {
			folder(t, plain), mine, secrets.ErrNotEncrypted,
			": is not encrypted: run `sops encrypt --in-place` on it, and replace what others may have read",
		},
		"not YAML":   {folder(t, "correct: [horse"), mine, secrets.ErrNotSOPS, ": is not a file that sops wrote: restore it from a backup"},
		"not text":   {encrypted(t, "nas: {port: 443}\n", key), mine, secrets.ErrNotText, ": nas.port is not text: put it in quotes with `em-infra secrets edit`"},
		"a list":     {encrypted(t, "keys: [a, b]\n", key), mine, secrets.ErrNotText, ": keys is not text: put it in quotes with `em-infra secrets edit`"},
		"added line": {appended(t, dir, "extra: sneaked in\n"), mine, secrets.ErrTampered, ": was changed after it was encrypted: restore it from a backup"},
		"changed value": {
			replaced(t, dir, "nas.example", "evil.example"), mine, secrets.ErrTampered,
			": was changed after it was encrypted: restore it from a backup",
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			loaded, err := secrets.Load(test.dir, test.keys)
			require.Nil(t, loaded)
			require.ErrorIs(t, err, test.is)
			require.Truef(t, strings.HasSuffix(err.Error(), test.want), "got %s\nwant %s", err, test.want)
			require.NotContains(t, err.Error(), "horse")
			require.NotContains(t, err.Error(), "SECRET-KEY-1N")
		})
	}
}

// replaced returns a copy of the file with one text for another.
func replaced(t *testing.T, dir, old, changed string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, secrets.File))
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	return folder(t, strings.Replace(string(text), old, changed, 1))
}

// appended returns a copy of the file with a line more at its beginning.
func appended(t *testing.T, dir, line string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, secrets.File))
	require.NoError(t, err)
	return folder(t, line+string(text))
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, secrets.File), 0o700))
	_, err := secrets.Load(dir, secrets.Keys{})
	require.EqualError(t, err, "read secrets: read "+filepath.Join(dir, secrets.File)+": is a directory")
}

// No way of printing shows a secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	key := sopstest.NewKey(t)
	loaded, err := secrets.Load(encrypted(t, plain, key), secrets.Keys{File: file(t, key.String())})
	require.NoError(t, err)
	secret, _ := loaded.Lookup("truenas", "apiKey")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.Equal(t, "[secret]", fmt.Sprintf(verb, secret), verb)
		require.NotContains(t, fmt.Sprintf(verb, loaded), "horse", verb)
	}
	require.Equal(t, "[secret]", secret.String())
	text, err := json.Marshal(map[string]any{"a": secret})
	require.NoError(t, err)
	require.JSONEq(t, `{"a": "[secret]"}`, string(text))
}
