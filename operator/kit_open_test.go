package operator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// noLab makes an operator that of a rehearsal, whose passphrase is in its folder. None of its methods is called here.
type noLab struct{ operator.Lab }

// TestAKitThatCannotBeOpened has the exact words of each refusal, which all commands with a kit share. Nothing is written.
func TestAKitThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	o, ours := kitOfARehearsal(t)
	folder := o.Workspace().Root
	text, err := os.ReadFile(ours)
	require.NoError(t, err)
	short, empty := filepath.Join(t.TempDir(), "short.tar.age"), filepath.Join(t.TempDir(), "empty.tar.age")
	require.NoError(t, os.WriteFile(short, text[:len(text)-100], 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct{ name, kit, want string }{
		{"none here", "", "stack k3s-dev has no recovery kit in " + filepath.Join(folder, ".lab", "k3s-dev", "backups", "kit") + ": name one with --kit FILE, or make one with `em-infra kit create --stack k3s-dev --lab`"},
		{"no such file", "/media/stick/k3s-dev.tar.age", "there is no recovery kit /media/stick/k3s-dev.tar.age: name its file with --kit"},
		{
			"another passphrase", kitOf(t, "k3s-dev", "open barley"),
			"the recovery kit 2026-11-20T22-15-00-kit.tar.age: it is sealed for others: set SOPS_AGE_KEY_FILE to the file with the key of one of backups.recipients, or PULUMI_CONFIG_PASSPHRASE_FILE to that with the passphrase of the stack, as they were when it was made",
		},
		{"cut off", short, "the recovery kit short.tar.age: it is damaged or cut off: failed to decrypt and authenticate payload chunk: use another copy of it, or an older kit"},
		{"empty", empty, "the recovery kit empty.tar.age: it is no file of age: failed to read header: parsing age header: failed to read intro: EOF: use another copy of it, or an older kit"},
		{"another stack's", kitOf(t, "prod", "open sesame"), "the recovery kit is of the stack prod, not of k3s-dev: run the command with --stack prod"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, refuses := range []func() error{
				func() error { _, err := o.CheckKit(t.Context(), test.kit); return err },
				func() error { _, err := o.OpenKit(test.kit, filepath.Join(t.TempDir(), "kit")); return err },
				func() error {
					_, err := o.RestoreKit(t.Context(), operator.KitRestoreOptions{Kit: test.kit})
					return err
				},
			} {
				err := refuses()
				var refused *operator.RefusedError
				require.ErrorAs(t, err, &refused)
				require.EqualError(t, err, test.want)
			}
			require.NoFileExists(t, filepath.Join(o.Workspace().Dir, "Pulumi.k3s-dev.yaml"))
		})
	}
}

// TestAFolderThatCannotBeMade: the advice fits the cause.
func TestAFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	o, ours := kitOfARehearsal(t)
	absent := filepath.Join(t.TempDir(), "absent", "kit")
	_, err := o.OpenKit(ours, absent)
	require.EqualError(t, err, "the folder for the files of the recovery kit: mkdir "+absent+": no such file or directory: create the folder above it, or name another place")
	there := t.TempDir()
	_, err = o.OpenKit(ours, there)
	require.EqualError(t, err, "the folder for the files of the recovery kit: mkdir "+there+": file exists: name one that does not exist")
}

// TestAKitThatIsHalfWrittenLeavesNothing: its files are in clear.
func TestAKitThatIsHalfWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	o, _ := kitOfARehearsal(t)
	folder := filepath.Join(t.TempDir(), "kit")
	_, err := o.OpenKit(kitOf(t, "k3s-dev", "open sesame", recoverykit.Text("talosconfig", []byte("made up")), recoverykit.Text("talosconfig/below", nil)), folder)
	require.ErrorContains(t, err, "the files of the recovery kit cannot be written (")
	require.ErrorContains(t, err, "): make room there or name another place, then try again")
	require.NoDirExists(t, folder)
}

// kitOfARehearsal returns an operator of a rehearsal with a passphrase, and a kit that it opens.
func kitOfARehearsal(t *testing.T) (o *operator.Operator, kit string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Pulumi.yaml"), []byte("name: em-infra\nruntime: go\n"), 0o600))
	o, err = operator.Open(operator.Options{Stack: "k3s-dev", Project: folder, Lab: noLab{}})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(o.Workspace().Dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(o.Workspace().Dir, "passphrase"), []byte("open sesame\n"), 0o600))
	return o, kitOf(t, "k3s-dev", "open sesame")
}

// kitOf returns a kit with files.
func kitOf(t *testing.T, stack, phrase string, files ...recoverykit.File) string {
	t.Helper()
	recipient, err := etcdsnapshot.WithPassphrase(phrase)
	require.NoError(t, err)
	store := recoverykit.Store{Dir: t.TempDir()}
	saved, err := store.Save(recoverykit.Description{Stack: stack, Made: time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)}, []age.Recipient{recipient}, files)
	require.NoError(t, err)
	return saved.Path
}
