package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

// TestRuleRecipients: the first rule that matches counts, seen from the folder of the rules, as sops selects it.
func TestRuleRecipients(t *testing.T) {
	t.Parallel()
	ana, ben := sopstest.NewKey(t).Recipient().String(), sopstest.NewKey(t).Recipient().String()
	const refused = "the rule of RULES for stacks/home/secrets.sops.yaml has keys of another kind than age (KINDS): " +
		`put a rule with path_regex ^stacks/home/secrets\.sops\.yaml$ and only age recipients before it`
	for name, test := range map[string]struct {
		rules string
		want  []string
		err   string
		is    error
	}{
		"no rules":          {"", nil, "", nil},
		"none of creation":  {"destination_rules: []\n", nil, "", nil},
		"none that matches": {"creation_rules: [{path_regex: ^other/, age: ANA}]\n", nil, "", nil},
		"not below a folder of the same name": {
			"creation_rules: [{path_regex: ^home/, age: ANA}]\n", nil, "", nil,
		},
		"the first that matches": {
			"creation_rules:\n  - {path_regex: ^other/, pgp: F00}\n  - {path_regex: 'sops\\.yaml$', age: ' BEN, ANA'}\n  - {age: ANA}\n", []string{"BEN", "ANA"}, "", nil,
		},
		"one for all files": {"creation_rules: [{age: ANA}]\n", []string{"ANA"}, "", nil},
		"a group":           {"creation_rules: [{key_groups: [{age: [ANA], merge: [{age: [BEN]}]}]}]\n", []string{"BEN", "ANA"}, "", nil},
		"other keys": {
			"creation_rules: [{age: ANA, pgp: F00, kms: 'arn:aws:kms:eu-west-1:1:key/a,arn:aws:kms:eu-west-1:1:key/b'}]\n", nil,
			strings.Replace(refused, "KINDS", "pgp, kms", 1), secrets.ErrOtherKeys,
		},
		"other keys in a group": {
			"creation_rules: [{key_groups: [{age: [ANA], hc_vault: ['https://vault.example/v1/sops/keys/a']}]}]\n", nil,
			strings.Replace(refused, "KINDS", "hc_vault", 1), secrets.ErrOtherKeys,
		},
		"two groups": {
			"creation_rules: [{key_groups: [{age: [ANA]}, {age: [BEN]}]}]\n", nil,
			strings.Replace(refused, "keys of another kind than age (KINDS)", "several groups of keys", 1), secrets.ErrSeveralGroups,
		},
		"no expression": {
			"creation_rules: [{path_regex: '(', age: ANA}]\n", nil,
			`RULES is not valid: the path_regex "(" is no regular expression, so correct it`, secrets.ErrInvalid,
		},
		"a secret key": {
			"creation_rules: [{age: AGE-SECRET-KEY-1X}]\n", nil,
			"RULES is not valid: its rule for stacks/home/secrets.sops.yaml cannot be read, so correct that", secrets.ErrInvalid,
		},
		"no list": {"creation_rules: all\n", nil, "RULES is not valid: it needs a list creation_rules, so correct it or move it away", secrets.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			named := strings.NewReplacer("ANA", ana, "BEN", ben, "RULES", filepath.Join(root, ".sops.yaml"))
			if test.rules != "" {
				require.NoError(t, os.WriteFile(filepath.Join(root, ".sops.yaml"), []byte(named.Replace(test.rules)), 0o600))
			}
			got, err := secrets.RuleRecipients(root, filepath.Join(root, "stacks/home"))
			if test.err != "" {
				require.EqualError(t, err, named.Replace(test.err))
				require.ErrorIs(t, err, test.is)
				return
			}
			require.NoError(t, err)
			var want []string
			for _, each := range test.want {
				want = append(want, named.Replace(each))
			}
			require.Equal(t, want, got)
		})
	}
}

// TestRulesOfTheRepository: a project in a folder of a repository has the rules above it, which a new file in the project would hide.
func TestRulesOfTheRepository(t *testing.T) {
	t.Parallel()
	repository, ana := t.TempDir(), sopstest.NewKey(t).Recipient().String()
	root := filepath.Join(repository, "infra")
	stack := filepath.Join(root, "stacks/home")
	require.NoError(t, os.MkdirAll(stack, 0o700))
	rules := filepath.Join(repository, ".sops.yaml")
	require.NoError(t, os.WriteFile(rules, []byte("creation_rules:\n  - path_regex: ^infra/\n    age: "+ana+"\n"), 0o600))

	found, err := secrets.RuleRecipients(root, stack)
	require.NoError(t, err)
	require.Empty(t, found, "without a repository, folders above the project are not its own")

	require.NoError(t, os.Mkdir(filepath.Join(repository, ".git"), 0o700))
	found, err = secrets.RuleRecipients(root, stack)
	require.NoError(t, err)
	require.Equal(t, []string{ana}, found)
	path, err := secrets.WriteRule(root, stack, []string{"age1a"})
	require.NoError(t, err)
	require.Equal(t, rules, path)
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.Equal(t, "creation_rules:\n  - path_regex: ^infra/stacks/home/secrets\\.sops\\.yaml$\n    age: age1a\n  - path_regex: ^infra/\n    age: "+ana+"\n", string(text))
}

// TestTheRuleOfTheFileComesFirst, also if another rule was written before it.
func TestTheRuleOfTheFileComesFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rules := filepath.Join(root, ".sops.yaml")
	require.NoError(t, os.WriteFile(rules, []byte("creation_rules:\n  - age: age1b\n  - path_regex: ^home/secrets\\.sops\\.yaml$\n    age: age1a\n"), 0o600))
	_, err := secrets.WriteRule(root, filepath.Join(root, "home"), []string{"age1c"})
	require.NoError(t, err)
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.Equal(t, "creation_rules:\n  - path_regex: ^home/secrets\\.sops\\.yaml$\n    age: age1c\n  - age: age1b\n", string(text))
}
