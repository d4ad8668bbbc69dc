package stacks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// TestAPlainPulumiDoesNotBeginASecondState: where the stack's file names its state, the engine has to use that one.
func TestAPlainPulumiDoesNotBeginASecondState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, project, stack, env, want string }{
		{"not named", "backend: {url: s3://states}\n", "", "file:///elsewhere", ""},
		{"as Pulumi.yaml has it", "backend: {url: file://./.state}\n", "file://./.state", "", ""},
		{"in the shell of tools env", "backend: {url: file://./.state}\n", "s3://states?region=x", "s3://states?region=x", ""},
		{
			"moved to a bucket", "backend: {url: file://./.state}\n", "s3://states?region=x", "",
			"the state of stack k3s-dev is in s3://states (em-infra:backend in Pulumi.k3s-dev.yaml), and pulumi uses another one, file://ROOT/.state: run `eval \"$(em-infra tools env --stack k3s-dev)\"` in this shell, then run again",
		},
		{
			"moved back", "backend: {url: s3://states}\n", "file://./.state", "",
			"the state of stack k3s-dev is in file://./.state (em-infra:backend in Pulumi.k3s-dev.yaml), and pulumi uses another one, s3://states: run `eval \"$(em-infra tools env --stack k3s-dev)\"` in this shell, then run again",
		},
		{
			"by login", "name: em-infra\n", "s3://states", "",
			"the state of stack k3s-dev is in s3://states (em-infra:backend in Pulumi.k3s-dev.yaml), and pulumi uses another one, the one of its last login: run `eval \"$(em-infra tools env --stack k3s-dev)\"` in this shell, then run again",
		},
	} {
		root := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(test.project), 0o600))
		if test.stack != "" {
			require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.k3s-dev.yaml"), []byte("config:\n  em-infra:backend: "+test.stack+"\n"), 0o600))
		}
		err := stacks.CheckBackend(&workspace.Workspace{Dir: root, Stack: "k3s-dev"}, func(string) string { return test.env })
		if test.want == "" {
			require.NoError(t, err, test.name)
			continue
		}
		require.EqualError(t, err, strings.ReplaceAll(test.want, "ROOT", root), test.name)
	}
}
