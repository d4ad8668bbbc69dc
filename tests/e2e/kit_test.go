package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
)

// TestE2ETheComputerOfTheOperatorIsLost: with the recovery kit, the age key and a clone, one command brings back what a preview needs,
// and the preview is empty. What a rehearsal keeps of its emulated host stays, as a host would.
func TestE2ETheComputerOfTheOperatorIsLost(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	key, kit := filepath.Join(t.TempDir(), "key.txt"), filepath.Join(t.TempDir(), "stick.tar.age")
	require.NoError(t, os.WriteFile(key, []byte(identity.String()+"\n"), 0o600))
	require.Contains(t, r.mustRun(3, "kit", "check", "--lab"), "has no recovery kit in ")
	r.aPassphraseOpensAKit()
	r.writeInventory("cluster.yaml", r.read(filepath.Join(r.inventory, "cluster.yaml"))+"backups: {recipients: ["+identity.Recipient().String()+"]}\n")
	r.env = []string{"SOPS_AGE_KEY_FILE=" + key}

	created := r.mustRun(0, "kit", "create", "--lab")
	require.Contains(t, created, "opened by the private key of "+identity.Recipient().String()+"; copy both files to another machine")
	require.Regexp(t, `-kit +v1\.12\.4 +v1\.35\.4 +\S+ \d\d:\d\d +\d+ KiB\n`, r.mustRun(0, "kit", "list", "--lab"))
	require.Regexp(t, `copies +snapshot of etcd \d min old, recovery kit \d min old\n`, r.mustRun(0, "status", "--lab"))
	r.kitFits()
	require.NoError(t, os.Rename(r.newestKit(), kit))
	files := r.loseComputer()

	r.env = []string{"SOPS_AGE_KEY_FILE=" + filepath.Join(t.TempDir(), "no-such-file")}
	require.Contains(t, r.mustRun(3, "kit", "restore", "--lab", "--kit", kit), "no-such-file")
	r.env = nil
	require.Contains(t, r.mustRun(3, "kit", "restore", "--lab", "--kit", kit), "it is sealed for others: set SOPS_AGE_KEY_FILE to the file with the key of one of backups.recipients")
	r.env = []string{"SOPS_AGE_KEY_FILE=" + key}
	seen := len(r.calls())
	r.killedRestore(kit)
	restored := r.mustRun(0, "kit", "restore", "--lab", "--kit", kit)
	require.Regexp(t, `(the state is that of the kit, with \d+ resources|the stack has a state, which is left as it is); the kit was made `, restored)
	for name, text := range files {
		require.Equal(t, text, r.read(filepath.Join(r.inventory, name)), name)
	}
	r.mustRun(0, "preview", "--lab", "--refresh")
	require.Empty(t, writes(r.calls()[seen:]))

	require.Contains(t, r.mustRun(0, "kit", "restore", "--lab", "--kit", kit), "the stack has a state, which is not changed")
	r.writeInventory("nodes.yaml", files["nodes.yaml"]+"# newer\n")
	require.Contains(t, r.mustRun(3, "kit", "restore", "--lab", "--kit", kit), "nodes.yaml: add --existing keep to leave them as they are, or --existing replace to take those of the kit")
	require.Contains(t, r.mustRun(0, "kit", "restore", "--lab", "--kit", kit, "--existing", "keep"), "nodes.yaml: it differs from the kit's\n")
	r.mustRun(0, "kit", "check", "--lab", "--kit", kit)
	r.mustRun(0, "etcd", "verify", "--lab")
	r.mustRun(0, "up", "--lab", "--yes")
	r.secureAPIAnswers(r.nodes())
}

// aPassphraseOpensAKit makes a kit without recipients and puts it back on a computer that has the passphrase alone.
func (r *rehearsal) aPassphraseOpensAKit() {
	r.t.Helper()
	require.Contains(r.t, r.mustRun(0, "kit", "create", "--lab"), "opened by the passphrase of the stack; copy both files to another machine")
	kit := filepath.Join(r.t.TempDir(), "stick.tar.age")
	require.NoError(r.t, os.Rename(r.newestKit(), kit))
	phrase := r.read(filepath.Join(r.dir(), "passphrase"))
	files := r.loseComputer()
	require.Contains(r.t, r.mustRun(3, "kit", "restore", "--lab", "--kit", kit), "it is sealed for others: set SOPS_AGE_KEY_FILE")
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir(), "passphrase"), []byte(phrase), 0o600))
	require.Contains(r.t, r.mustRun(0, "kit", "restore", "--lab", "--kit", kit), "the state is that of the kit, with ")
	for name, text := range files {
		require.Equal(r.t, text, r.read(filepath.Join(r.inventory, name)), name)
	}
	require.NotContains(r.t, r.mustRun(0, "kit", "check", "--lab", "--kit", kit), " warn ")
}

// newestKit returns the path of the newest kit of the stack.
func (r *rehearsal) newestKit() string {
	r.t.Helper()
	made, err := filepath.Glob(filepath.Join(r.dir(), "backups", "kit", "*.tar.age"))
	require.NoError(r.t, err)
	require.NotEmpty(r.t, made)
	return made[len(made)-1]
}

// killedRestore kills a restore of a kit when it has written its first file.
func (r *rehearsal) killedRestore(kit string) {
	r.t.Helper()
	s := r.start("kit", "restore", "--lab", "--kit", kit)
	r.eventually("its first file is written", func() bool {
		_, err := os.Stat(filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml"))
		return err == nil
	})
	for _, pid := range append(childrenNamed(r.t, s.command.Process.Pid, "pulumi"), s.command.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			require.ErrorIs(r.t, err, syscall.ESRCH, "on a slow machine it may have ended")
		}
	}
	<-s.ended
}

// kitFits checks what kit check prints about the newest kit of a cluster that runs.
func (r *rehearsal) kitFits() {
	r.t.Helper()
	checked := r.mustRun(0, "kit", "check", "--lab")
	for _, line := range []string{
		`it opens: made \S+ \S+ UTC of Talos v1\.12\.4 and Kubernetes v1\.35\.4`, `the machine secrets are complete; their CA has SHA-256 [0-9a-f]{12}…`,
		`the inventory is valid and has 2 nodes`, `it is the inventory of the stack`, `the state opens, has the same machine secrets and \d+ resources`,
		`the snapshot of etcd of \S+ \S+ UTC is sound: revision \d+`, `the machine secrets are those in the state of the stack`,
		`the talosconfig of the kit opens the Talos API at 127\.\S+`,
	} {
		require.Regexp(r.t, ` ok    `+line+`\n`, checked)
	}
	folder := filepath.Join(r.t.TempDir(), "kit")
	opened := r.mustRun(0, "kit", "open", "--lab", "--to", folder)
	require.Contains(r.t, opened, "secrets.yaml")
	require.True(r.t, strings.HasPrefix(r.read(filepath.Join(folder, "README.md")), "# Recovery kit of the cluster k3s-dev\n"))
	require.Contains(r.t, r.mustRun(3, "kit", "open", "--lab", "--to", folder), "name one that does not exist")
}

// loseComputer deletes all that em-infra keeps of the stack, and returns the files of the inventory, which are deleted too. The folder
// of the plugins stays, since nothing of the stack is in it.
func (r *rehearsal) loseComputer() map[string]string {
	r.t.Helper()
	for _, name := range []string{"state", "backups", "artifacts", "passphrase", "kubeconfig", "talosconfig", "Pulumi.yaml", "Pulumi." + r.stack + ".yaml"} {
		require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir(), name)))
	}
	files := map[string]string{}
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		files[name] = r.read(filepath.Join(r.inventory, name))
		require.NoError(r.t, os.Remove(filepath.Join(r.inventory, name)))
	}
	return files
}
