package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

// owner gives this user a configuration folder without keys, a folder for clear texts, and an editor that is a script of the shell
// with the file as $1. It returns the folder for clear texts and a function that replaces the script.
func owner(t *testing.T) (clear string, edit func(script string)) {
	t.Helper()
	clear = t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", clear)
	t.Setenv(secrets.KeyVariable, "")
	t.Setenv(secrets.KeyFileVariable, "")
	editor := filepath.Join(t.TempDir(), "editor")
	t.Setenv("EDITOR", editor)
	return clear, func(script string) {
		executabletest.Script(t, editor, script+"\n")
	}
}

// withTrueNAS adds addons that need secrets to the project's inventory.
func withTrueNAS(t *testing.T, root string) {
	t.Helper()
	writeFile(t, filepath.Join(root, "stacks/k3s-dev/cluster.yaml"), soundCluster+"addons:\n  truenas: {host: 192.168.20.5}\n")
}

func TestSecretsFromTheFirstToTheEdit(t *testing.T) {
	root := project(t)
	withTrueNAS(t, root)
	clear, edit := owner(t)
	made := em(t.Context(), "secrets", "init", "--stack", "k3s-dev")
	require.Empty(t, made.err)
	keyFile := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "sops/age/keys.txt")
	text, err := os.ReadFile(keyFile)
	require.NoError(t, err)
	public := strings.TrimPrefix(strings.Split(string(text), "\n")[0], "# public key: ")
	require.Equal(t, "age key    made in "+keyFile+": copy that file to a safe place, because nothing else opens the secrets\n"+
		"recipient  "+public+"\n"+
		"secrets    stacks/k3s-dev/secrets.sops.yaml, rule in .sops.yaml\n"+
		"to fill in truenas.apiKey\n"+
		"next:\n  em-infra secrets edit --stack k3s-dev\n", made.out)
	require.NotContains(t, made.out, "AGE-SECRET-KEY")
	require.Equal(t, refusal("stacks/k3s-dev/secrets.sops.yaml exists: change it with `em-infra secrets edit --stack k3s-dev`"),
		em(t.Context(), "secrets", "init", "--stack", "k3s-dev"))

	require.Equal(t, "empty  truenas.apiKey\n", em(t.Context(), "secrets", "show-keys", "k3s-dev").out)
	edit(`sed -i 's/""/correct horse/' "$1"`)
	require.Equal(t, outcome{out: "secrets.sops.yaml is written: em-infra up --stack k3s-dev\n"}, em(t.Context(), "secrets", "edit", "k3s-dev"))
	require.Equal(t, "set    truenas.apiKey\n", em(t.Context(), "secrets", "show-keys", "k3s-dev").out)
	read, err := secrets.Read(t.Context(), "stacks/k3s-dev")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"truenas.apiKey": "correct horse"}, read)
	edit(":")
	require.Equal(t, outcome{out: "nothing was changed\n"}, em(t.Context(), "secrets", "edit", "k3s-dev"))
	left, err := os.ReadDir(clear)
	require.NoError(t, err)
	require.Empty(t, left, "nothing stays in clear")
}

// TestANewFileIsForTheRecipientsOfItsRule and for its maker. When the rule is refused, no key was made.
func TestANewFileIsForTheRecipientsOfItsRule(t *testing.T) {
	root := project(t)
	withTrueNAS(t, root)
	_, edit := owner(t)
	rules, ana := filepath.Join(root, ".sops.yaml"), sopstest.NewKey(t)
	pattern := `^stacks/k3s-dev/secrets\.sops\.yaml$`
	writeFile(t, rules, "creation_rules:\n  - path_regex: sops\\.yaml$\n    pgp: F00\n")
	require.Equal(t, refusal("the rule of "+rules+" for stacks/k3s-dev/secrets.sops.yaml has keys of another kind than age (pgp): put a rule with path_regex "+
		pattern+" and only age recipients before it"), em(t.Context(), "secrets", "init", "k3s-dev"))
	require.NoFileExists(t, filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "sops/age/keys.txt"))

	theirs := "  - path_regex: sops\\.yaml$\n    age: " + ana.Recipient().String() + "\n"
	writeFile(t, rules, "creation_rules:\n"+theirs)
	made := em(t.Context(), "secrets", "init", "k3s-dev")
	require.Empty(t, made.err)
	mine, _, err := secrets.KeysHere().Own()
	require.NoError(t, err)
	require.Contains(t, made.out, "recipient  "+ana.Recipient().String()+" (its rule in .sops.yaml names it)\nrecipient  "+mine[0]+"\n")
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.Equal(t, "creation_rules:\n  - path_regex: "+pattern+"\n    age: "+ana.Recipient().String()+","+mine[0]+"\n"+theirs, string(text))

	edit(`echo "pin: '1234'" > "$1"`)
	require.Empty(t, em(t.Context(), "secrets", "edit", "k3s-dev").err)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(secrets.KeyVariable, ana.String())
	read, err := secrets.Read(t.Context(), "stacks/k3s-dev")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"pin": "1234"}, read)
}

func TestAnEditThatFailsLosesNothing(t *testing.T) {
	root := project(t)
	withTrueNAS(t, root)
	clear, edit := owner(t)
	require.Empty(t, em(t.Context(), "secrets", "init", "k3s-dev").err)
	file := filepath.Join(root, "stacks/k3s-dev/secrets.sops.yaml")
	before, err := os.ReadFile(file)
	require.NoError(t, err)

	edit(`echo "hunter2: [" > "$1"; exit 4`)
	failed := em(t.Context(), "secrets", "edit", "k3s-dev")
	require.Equal(t, refusal("the editor failed ("+os.Getenv("EDITOR")+": exit status 4): set $EDITOR to one that works, then run this again; secrets.sops.yaml is as it was"), failed)

	edit(`echo "hunter2: [" > "$1"`)
	invalid := em(t.Context(), "secrets", "edit", "k3s-dev")
	require.Equal(t, refusal("the new text is not valid YAML at line 1: secrets.sops.yaml is as it was, and your text is in "+
		"stacks/k3s-dev/secrets.sops.yaml.rejected, encrypted: correct it with `em-infra secrets edit --stack k3s-dev --resume`"), invalid)
	require.Equal(t, refusal("an edit that was not valid is kept in stacks/k3s-dev/secrets.sops.yaml.rejected: go on with "+
		"`em-infra secrets edit --stack k3s-dev --resume`, or delete that file"), em(t.Context(), "secrets", "edit", "k3s-dev"))
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	edit(`sed -i 's/\[/three/' "$1"`)
	require.Empty(t, em(t.Context(), "secrets", "edit", "k3s-dev", "--resume").err)
	read, err := secrets.Read(t.Context(), "stacks/k3s-dev")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"hunter2": "three"}, read)
	require.NoFileExists(t, file+".rejected")
	require.Equal(t, refusal("there is no edit to go on with: leave --resume out"), em(t.Context(), "secrets", "edit", "k3s-dev", "--resume"))
	left, err := os.ReadDir(clear)
	require.NoError(t, err)
	require.Empty(t, left, "nothing stays in clear")
}

func TestRecipientsComeAndGo(t *testing.T) {
	root := project(t)
	withTrueNAS(t, root)
	_, edit := owner(t)
	require.Empty(t, em(t.Context(), "secrets", "init", "k3s-dev").err)
	edit(`sed -i 's/""/correct horse/' "$1"; printf 'git:\n    password: battery\n    username: ""\n' >> "$1"`)
	require.Empty(t, em(t.Context(), "secrets", "edit", "k3s-dev").err)
	mine, _, err := secrets.KeysHere().Own()
	require.NoError(t, err)
	other := sopstest.NewKey(t).Recipient().String()

	require.Equal(t, outcome{out: other + " can read secrets.sops.yaml from now on\n"}, em(t.Context(), "secrets", "recipients", "add", other, "--stack", "k3s-dev"))
	require.Equal(t, outcome{out: mine[0] + "  yours\n" + other + "\n"}, em(t.Context(), "secrets", "recipients", "list", "k3s-dev"))
	rules := func() string {
		text, err := os.ReadFile(filepath.Join(root, ".sops.yaml"))
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, rules(), "age: "+mine[0]+","+other+"\n")
	require.Equal(t, outcome{out: "secrets.sops.yaml has a new data key; recipients: 2\n"}, em(t.Context(), "secrets", "rotate", "k3s-dev"))

	require.Equal(t, outcome{out: other + " can no longer read secrets.sops.yaml\n" +
		"it knew these, in this file and in its older versions: change each where it comes from\n  git.password\n  truenas.apiKey\n" +
		"then:\n  em-infra secrets edit --stack k3s-dev\n  em-infra up --stack k3s-dev\n"},
		em(t.Context(), "secrets", "recipients", "remove", other, "--stack", "k3s-dev"))
	require.Contains(t, rules(), "age: "+mine[0]+"\n")
	require.Equal(t, exitRefused, em(t.Context(), "secrets", "recipients", "remove", mine[0], "--stack", "k3s-dev").code)

	require.NoError(t, os.Remove(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "sops/age/keys.txt")))
	require.Equal(t, refusal("stacks/k3s-dev/secrets.sops.yaml: no age key was found: set SOPS_AGE_KEY_FILE to the file that holds the key of "+mine[0]),
		em(t.Context(), "secrets", "show-keys", "k3s-dev"))
}
