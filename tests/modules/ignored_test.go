package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted are files that must never come into version control, by where a run or its user puts them.
var planted = []string{
	".state/.pulumi/stacks/em-infra/k3s-dev.json", ".lab/k3s-dev/state.json", ".pulumi-home/plugins/plugin",
	"artifacts/k3s-dev/up-1/plan.json", "artifacts-k3s-dev.zip", "artifacts.tar.gz",
	".backups/k3s-dev/before-up.json.gz", ".backups/k3s-dev/etcd/1.snap.age", "etcd.snapshot", "db.snapshot",
	".credentials/k3s-dev/kubeconfig", ".credentials/k3s-dev/talosconfig", "kubeconfig", "talosconfig", "kubeconfig.yaml", "talosconfig.yaml", "kubeconfig-k3s-dev", "talosconfig-k3s-dev",
	"stacks/k3s-dev/secrets.yaml", "stacks/k3s-dev/secrets.sops.yaml.rejected", "stacks/k3s-dev/.secrets.sops.yaml1234567",
	"keys.txt", "age.key", "owner.agekey", "id_ed25519", "id_rsa", "tls.key", "client.pem", "passphrase", "passphrase.txt",
	"k3s-dev.tar.age", "kits/k3s-dev-2026-11-23.tar.age", "kits/k3s-dev.tar", ".env", ".env.local", "terraform.tfstate", "terraform.tfstate.backup",
}

// kept are files that belong into version control, some of them with names like those above.
var kept = []string{
	".sops.yaml", "Pulumi.home.yaml", "stacks/home/cluster.yaml", "stacks/home/nodes.yaml", "stacks/home/secrets.sops.yaml",
	"operator/kit.go", "internal/etcdsnapshot/store.go", "docs/passphrase.md", "tests/e2e/testdata/plan.json",
}

// TestNothingSecretIsOfferedToGit plants one file of each kind in a repository with the rules of this one.
func TestNothingSecretIsOfferedToGit(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), rules, 0o600))
	for _, path := range append(planted, kept...) {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("made up\n"), 0o600))
	}
	offered := strings.Fields(git(t, dir, "status", "--porcelain", "--untracked-files=all"))
	for _, path := range planted {
		require.NotContains(t, offered, path)
	}
	for _, path := range kept {
		require.Contains(t, offered, path)
	}
}

// git runs git in a folder, without the settings of the user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
