package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

func TestBackendIsThatOfTheStackOrTheProject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, project, stack, backend string }{
		{"none", "name: em-infra\n", "", "file://ROOT/.state"},
		{"relative folder", "name: em-infra\nbackend: {url: file://./states/here}\n", "", "file://ROOT/states/here"},
		{"absolute folder", "name: em-infra\nbackend:\n  url: file:///srv/state\n", "config: {}\n", "file:///srv/state"},
		{"bucket", "name: em-infra\nbackend:\n  url: s3://states?region=eu-central-1\n", "", "s3://states?region=eu-central-1"},
		{"bucket of the stack", "name: em-infra\nbackend:\n  url: file://./.state\n", "config:\n  em-infra:backend: s3://states/home?region=eu-central-1\n", "s3://states/home?region=eu-central-1"},
		{"folder of the stack", "name: em-infra\nbackend: {url: s3://states}\n", "config: {em-infra:backend: \"file://./.state\"}\n", "file://ROOT/.state"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(test.project), 0o600))
			if test.stack != "" {
				require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.k3s-dev.yaml"), []byte(test.stack), 0o600))
			}
			w, err := workspace.Real(root, "k3s-dev", "")
			require.NoError(t, err)
			backend := strings.ReplaceAll(test.backend, "ROOT", root)
			require.Equal(t, backend, w.Backend)
			if folder, isFile := strings.CutPrefix(backend, "file://"); isFile {
				require.Equal(t, folder, w.StateFolder())
			} else {
				require.Empty(t, w.StateFolder())
				require.NotContains(t, w.ShownBackend(), "?")
			}
			require.Equal(t, w.Backend, w.Environment()["PULUMI_BACKEND_URL"])
			_, compressed := w.Environment()["PULUMI_DIY_BACKEND_GZIP"]
			require.Equal(t, w.StateFolder() == "", compressed, "in a bucket, where each change sends it twice")
		})
	}
}

// TestEngineBackendIsThatOfAPlainPulumi, which does not read the stack's file.
func TestEngineBackendIsThatOfAPlainPulumi(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := workspace.Real(root, "k3s-dev", "")
	require.NoError(t, err)
	in := func(url string) func(string) string {
		return func(name string) string { return map[string]string{"PULUMI_BACKEND_URL": url}[name] }
	}
	for _, test := range []struct{ project, env, want string }{
		{"name: em-infra\n", "", ""},
		{"backend: {url: file://./.state}\n", "", "file://" + filepath.Join(root, ".state")},
		{"backend: {url: file://./.state}\n", "s3://states", "s3://states"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(test.project), 0o600))
		url, err := w.EngineBackend(in(test.env))
		require.NoError(t, err)
		require.Equal(t, test.want, url)
	}
}

// TestTheUsersCompressionStays: the engine refuses two at once.
func TestTheUsersCompressionStays(t *testing.T) {
	w := &workspace.Workspace{Stack: "k3s-dev", Backend: "s3://states"}
	for variable, value := range map[string]string{"PULUMI_DIY_BACKEND_ZSTD": "true", "PULUMI_DIY_BACKEND_GZIP": "false"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			require.NotContains(t, w.Environment(), "PULUMI_DIY_BACKEND_GZIP")
		})
	}
	require.Equal(t, "true", w.Environment()["PULUMI_DIY_BACKEND_GZIP"])
}

func TestMoveBackendLeavesTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, after string }{
		{"an empty file", "", "config:\n  em-infra:backend: s3://states\n"},
		{"a salt alone", "encryptionsalt: v1:x", "encryptionsalt: v1:x\nconfig:\n  em-infra:backend: s3://states\n"},
		{"no key", "# mine\nconfig: {}\nencryptionsalt: v1:x\n", "# mine\nconfig:\n  em-infra:backend: s3://states\nencryptionsalt: v1:x\n"},
		{"nothing", "encryptionsalt: v1:x\nconfig:\n", "encryptionsalt: v1:x\nconfig:\n  em-infra:backend: s3://states\n"},
		{
			"other keys",
			"encryptionsalt: v1:x\nconfig:\n    # where it is\n    em-infra:inventory: stacks/home # here\n    em-infra:proxmoxToken:\n        secure: v1:y\n",
			"encryptionsalt: v1:x\nconfig:\n    # where it is\n    em-infra:backend: s3://states\n    em-infra:inventory: stacks/home # here\n    em-infra:proxmoxToken:\n        secure: v1:y\n",
		},
		{
			"another place",
			"config:\n  em-infra:inventory: stacks/home\n  em-infra:backend: \"file://./.state\" # for now\nencryptionsalt: v1:x\n",
			"config:\n  em-infra:inventory: stacks/home\n  em-infra:backend: \"s3://states\" # for now\nencryptionsalt: v1:x\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "Pulumi.k3s-dev.yaml")
			require.NoError(t, os.WriteFile(file, []byte(test.before), 0o640)) //nolint:gosec // the mode is part of the test
			w, err := workspace.Real(filepath.Dir(file), "k3s-dev", "")
			require.NoError(t, err)

			require.NoError(t, w.MoveBackend("s3://states"))
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, test.after, string(text))
			require.Equal(t, "s3://states", w.Backend)
			again, err := workspace.Real(filepath.Dir(file), "k3s-dev", "")
			require.NoError(t, err)
			require.Equal(t, "s3://states", again.Backend)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode())
			left, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

func TestMoveBackendRefusesAFormThatItCannotKeep(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"config: {em-infra:inventory: stacks/home}\n", "config: # none\n  {}\n", "config:\n  em-infra:backend:\n    file://./.state\n"} {
		file := filepath.Join(t.TempDir(), "Pulumi.k3s-dev.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		w, err := workspace.Real(filepath.Dir(file), "k3s-dev", "")
		require.NoError(t, err)
		require.EqualError(t, w.MoveBackend("s3://states"), file+": em-infra:backend cannot be written (config has one key a line): write `em-infra:backend: URL` below `config:`")
		require.Equal(t, "file://"+filepath.Join(w.Root, ".state"), w.Backend, "nothing has moved")
	}
}

func TestAtWritesNothing(t *testing.T) {
	t.Parallel()
	w, err := workspace.Real(t.TempDir(), "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, "file://"+filepath.Join(w.Root, "elsewhere"), w.At("file://./elsewhere").Backend)
	require.Equal(t, "file://"+filepath.Join(w.Root, ".state"), w.Backend)
}

func TestSecretsProviderIsThatOfTheStackFile(t *testing.T) {
	t.Parallel()
	w, err := workspace.Real(t.TempDir(), "k3s-dev", "")
	require.NoError(t, err)
	provider, err := w.SecretsProvider()
	require.NoError(t, err)
	require.Empty(t, provider)

	require.NoError(t, os.WriteFile(w.StackFile(), []byte("secretsprovider: awskms://alias/states\n"), 0o600))
	provider, err = w.SecretsProvider()
	require.NoError(t, err)
	require.Equal(t, "awskms://alias/states", provider)
}
