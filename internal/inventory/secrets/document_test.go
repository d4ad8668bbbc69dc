package secrets_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	ageidentity "filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

// of returns the keys of an environment that has only this key.
func of(t *testing.T, key *ageidentity.X25519Identity) secrets.Keys {
	t.Helper()
	return inEnvironment(map[string]string{secrets.KeyVariable: key.String()}, "")
}

// created returns a folder with a new file for keys, and the file opened by the first.
func created(t *testing.T, text string, keys ...*ageidentity.X25519Identity) (string, *secrets.Document) {
	t.Helper()
	dir := t.TempDir()
	var recipients []string
	for _, key := range keys {
		recipients = append(recipients, key.Recipient().String())
	}
	require.NoError(t, secrets.Create(dir, recipients, []string{"truenas.apiKey", "git.username", "git.password"}))
	d, err := secrets.Open(dir, of(t, keys[0]))
	require.NoError(t, err)
	if text != "" {
		require.NoError(t, d.Replace([]byte(text)))
		require.NoError(t, d.Save())
	}
	return dir, d
}

func read(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, secrets.File))
	require.NoError(t, err)
	return string(text)
}

// ciphertext returns the encrypted form of a value.
func ciphertext(t *testing.T, file, key string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ *` + key + `: (ENC\[.*\])$`).FindStringSubmatch(file)
	require.NotNil(t, found, "%s in %s", key, file)
	return found[1]
}

func TestANewFileHasTheNamesThatAreNeeded(t *testing.T) {
	t.Parallel()
	key := sopstest.NewKey(t)
	dir, d := created(t, "", key)
	text, err := d.Text()
	require.NoError(t, err)
	require.Equal(t, "truenas:\n    apiKey: \"\"\ngit:\n    username: \"\"\n    password: \"\"\n", string(text))
	values, err := d.Values()
	require.NoError(t, err)
	require.Equal(t, []secrets.Value{{"git.password", true}, {"git.username", true}, {"truenas.apiKey", true}}, values)
	info, err := os.Stat(filepath.Join(dir, secrets.File))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.EqualError(t, secrets.Create(dir, nil, nil), dir+"/secrets.sops.yaml exists: change it with `em-infra secrets edit`")

	empty := t.TempDir()
	require.NoError(t, secrets.Create(empty, []string{key.Recipient().String()}, nil))
	loaded, err := secrets.Load(empty, of(t, key))
	require.NoError(t, err)
	require.Empty(t, loaded.Reveal())
}

const filled = "# of the NAS\ntruenas:\n    apiKey: correct horse\ngit:\n    username: \"\"\n    password: battery staple\n"

func TestAnEditChangesOneCiphertextOnly(t *testing.T) {
	t.Parallel()
	key := sopstest.NewKey(t)
	dir, _ := created(t, filled, key)
	before := read(t, dir)
	require.NotContains(t, before, "horse")
	require.NotContains(t, before, "of the NAS", "comments are encrypted, too")

	d, err := secrets.Open(dir, of(t, key))
	require.NoError(t, err)
	text, err := d.Text()
	require.NoError(t, err)
	require.Equal(t, filled, string(text))
	require.NoError(t, d.Replace([]byte(strings.Replace(filled, "horse", "donkey", 1))))
	require.NoError(t, d.Save())
	after := read(t, dir)
	require.Equal(t, ciphertext(t, before, "password"), ciphertext(t, after, "password"))
	require.NotEqual(t, ciphertext(t, before, "apiKey"), ciphertext(t, after, "apiKey"))
	loaded, err := secrets.Load(dir, of(t, key))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"truenas.apiKey": "correct donkey", "git.username": "", "git.password": "battery staple"}, loaded.Reveal())
}

func TestATextThatIsNotValidChangesNothing(t *testing.T) {
	t.Parallel()
	dir, d := created(t, filled, sopstest.NewKey(t))
	before := read(t, dir)
	for text, want := range map[string]string{
		"a: b\nhunter2: [\n":     "the new text is not valid YAML at line 2",
		"a:\n  b: c\n d: hunter": "the new text is not valid YAML at line 2",
		"sops: {}\n":             `the new text is not valid: SOPS keeps the name "sops" for itself, so take another`,
		"pin: 1234\n":            "pin is not text: put it in quotes",
	} {
		require.EqualError(t, d.Replace([]byte(text)), want)
	}
	require.Equal(t, before, read(t, dir))
	text, err := d.Text()
	require.NoError(t, err)
	require.Equal(t, filled, string(text))
}

func TestARejectedTextIsKeptEncrypted(t *testing.T) {
	t.Parallel()
	key, other := sopstest.NewKey(t), sopstest.NewKey(t)
	dir, d := created(t, filled, key, other)
	kept, err := d.Rejected()
	require.NoError(t, err)
	require.Empty(t, kept)
	path, err := d.KeepRejected([]byte("hunter2: ["))
	require.NoError(t, err)
	require.Equal(t, dir+"/secrets.sops.yaml.rejected", path)
	sealed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "hunter2")
	text, err := d.ReadRejected()
	require.NoError(t, err)
	require.Equal(t, "hunter2: [", string(text))

	theirs, err := secrets.Open(dir, of(t, other))
	require.NoError(t, err)
	_, err = theirs.ReadRejected()
	require.EqualError(t, err, path+": the age key does not open it: use the key of the user who made it, or delete the file")
	require.NoError(t, d.DropRejected())
	require.NoError(t, d.DropRejected(), "it is gone")
	require.NoFileExists(t, path)
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	mine, theirs := sopstest.NewKey(t), sopstest.NewKey(t)
	dir, _ := created(t, filled, mine)
	_, err := secrets.Open(dir, of(t, theirs))
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	d, err := secrets.Open(dir, of(t, mine))
	require.NoError(t, err)

	require.NoError(t, d.AddRecipient(" "+theirs.Recipient().String()+"\n"))
	before := read(t, dir)
	require.NoError(t, d.Save())
	require.Equal(t, ciphertext(t, before, "apiKey"), ciphertext(t, read(t, dir), "apiKey"), "only the data key has one more copy")
	d, err = secrets.Open(dir, of(t, theirs))
	require.NoError(t, err)
	require.Equal(t, []secrets.Recipient{{mine.Recipient().String(), false}, {theirs.Recipient().String(), true}}, d.Recipients())

	old := read(t, dir)
	require.NoError(t, d.RemoveRecipient(mine.Recipient().String()))
	require.NoError(t, d.Save())
	_, err = secrets.Open(dir, of(t, mine))
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.NotEqual(t, ciphertext(t, old, "apiKey"), ciphertext(t, read(t, dir), "apiKey"), "the data key is a new one")
	loaded, err := secrets.Load(dir, of(t, theirs))
	require.NoError(t, err)
	require.Equal(t, "correct horse", loaded.Reveal()["truenas.apiKey"])
}

func TestRecipientsThatAreRefused(t *testing.T) {
	t.Parallel()
	mine, theirs := sopstest.NewKey(t), sopstest.NewKey(t)
	dir, d := created(t, filled, mine, theirs)
	me, they := mine.Recipient().String(), theirs.Recipient().String()
	before := read(t, dir)
	require.EqualError(t, d.AddRecipient(me), me+" is a recipient already: nothing to do")
	require.EqualError(t, d.AddRecipient("age1hunter"), `"age1hunter" is no public age key: give one that begins with age1, as `+"`age-keygen -y` prints it")
	require.EqualError(t, d.AddRecipient(theirs.String()),
		"the argument is no public age key but the secret one: give what `age-keygen -y` prints for it, which begins with age1")
	require.EqualError(t, d.RemoveRecipient("age1x"),
		"age1x is not a recipient of "+dir+"/secrets.sops.yaml, which is encrypted for "+me+" and "+they+": name one of these")
	require.EqualError(t, d.RemoveRecipient(me),
		me+" is the last key of yours that opens "+dir+"/secrets.sops.yaml: first add another with `em-infra secrets recipients add`")
	require.Equal(t, before, read(t, dir))

	foreign := encrypted(t, plain, mine) // and for a key of PGP
	d, err := secrets.Open(foreign, of(t, mine))
	require.NoError(t, err)
	require.EqualError(t, d.Rotate(), foreign+"/secrets.sops.yaml has keys of another kind than age: use `sops rotate` there")
	require.NoError(t, d.AddRecipient(they), "that needs no new data key")
	require.NoError(t, d.Save())
	_, err = secrets.Load(foreign, of(t, theirs))
	require.NoError(t, err)

	_, err = secrets.Open(filepath.Join(dir, "other"), of(t, mine))
	require.EqualError(t, err, dir+"/other/secrets.sops.yaml is not there: make it with `em-infra secrets init`")
}

func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	keys := inEnvironment(nil, config)
	recipients, made, err := keys.Own()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(config, "sops/age/keys.txt"), made)
	info, err := os.Stat(made)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Stat(filepath.Dir(made))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	again, made, err := keys.Own()
	require.NoError(t, err)
	require.Empty(t, made)
	require.Equal(t, recipients, again)

	_, _, err = inEnvironment(nil, "").Own()
	require.EqualError(t, err, "no age key was found, and this user has no configuration folder for a new one: make one with age-keygen, and set SOPS_AGE_KEY_FILE to its file")
}

func TestWriteRule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stack := filepath.Join(root, "stacks", "home")
	for _, step := range []struct{ before, recipients, want string }{
		{"", "age1a", "creation_rules:\n  - path_regex: ^stacks/home/secrets\\.sops\\.yaml$\n    age: age1a\n"},
		{
			"# ours\ncreation_rules:\n  - path_regex: other # theirs\n    pgp: F00\n", "age1a age1b",
			"# ours\ncreation_rules:\n  - path_regex: ^stacks/home/secrets\\.sops\\.yaml$\n    age: age1a,age1b\n  - path_regex: other # theirs\n    pgp: F00\n",
		},
		{
			"creation_rules:\n  - path_regex: ^stacks/home/secrets\\.sops\\.yaml$\n    age: >-\n      age1a,\n      age1b\n", "age1c",
			"creation_rules:\n  - path_regex: ^stacks/home/secrets\\.sops\\.yaml$\n    age: age1c\n",
		},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, ".sops.yaml"), []byte(step.before), 0o600))
		path, err := secrets.WriteRule(root, stack, strings.Fields(step.recipients))
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, step.want, string(text))
	}
	elsewhere := t.TempDir()
	path, err := secrets.WriteRule(root, elsewhere, []string{"age1a"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(elsewhere, ".sops.yaml"), path)
	require.NoError(t, os.WriteFile(path, []byte("creation_rules: all\n"), 0o600))
	_, err = secrets.WriteRule(root, elsewhere, []string{"age1a"})
	require.EqualError(t, err, path+" is not valid: it needs a list creation_rules, so correct it or move it away")
}
