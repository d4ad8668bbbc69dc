package operator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// TestALostStateIsCreatedAfterTheConsent: an empty state would hide from up that the state is lost.
func TestALostStateIsCreatedAfterTheConsent(t *testing.T) {
	t.Parallel()
	const (
		complete = `{"version": 3, "deployment": {"manifest": {"time": "2026-01-02T03:04:05Z"}}}`
		pending  = `{"version": 3, "deployment": {"manifest": {"time": "2026-01-02T03:04:05Z"}, "pending_operations": [
			{"type": "creating", "resource": {"urn": "urn:pulumi:k3s-dev::em-infra::a:b:C::e", "custom": true, "type": "a:b:C"}}]}}`
	)
	for _, test := range []struct {
		name, answer, backup, want string
		ran                        []string
	}{
		{"declined", "no", complete, "not confirmed; nothing was touched", []string{"export"}},
		{"agreed to", "k3s-dev", complete, "", []string{"export", "init", "import"}},
		{
			"the host cannot be asked about what was begun", "k3s-dev", pending,
			"the token has not the form USER@REALM!NAME=SECRET: set it again with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`", []string{"export"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			calls := filepath.Join(dir, "calls")
			cli := filepath.Join(dir, "pulumi")
			executabletest.Script(t, cli, `echo "$3" >>`+calls+"\n"+`if [ "$3" = export ]; then exit 6; fi`+"\n")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: em-infra\nruntime: go\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.k3s-dev.yaml"), []byte("config: {}\n"), 0o600))
			s, _ := sessionWith(t, &personWho{answers: test.answer}, false)
			s.workspace.Dir, s.workspace.Home, s.workspace.Backups, s.workspace.Backend = dir, dir, filepath.Join(dir, "backups"), address.OfFolder(t.TempDir())
			s.WithBackups()
			s.State().State = engine.State{Command: engine.NewCommand(cli, semver.MustParse("3.254.0")), Dir: dir, Project: "em-infra", Stack: "k3s-dev"}
			_, err := s.SaveBackup(time.Now(), "after-up", []byte(test.backup))
			require.NoError(t, err)

			_, err = s.RestoreState(t.Context(), "")
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.want)
			}
			ran, err := os.ReadFile(calls)
			require.NoError(t, err)
			require.Equal(t, test.ran, strings.Fields(string(ran)))
		})
	}
}

// stateInFile is a session whose state is in a file that its CLI reads and writes, and a person who answers.
func stateInFile(t *testing.T) (s *testSession, recorded *recordedEvents, person *personWho, file string) {
	t.Helper()
	dir := t.TempDir()
	cli, file := filepath.Join(dir, "pulumi"), filepath.Join(dir, "state.json")
	executabletest.Script(t, cli, `case "$3" in export) cat `+file+` ;; import) cat >`+file+` ;; esac`+"\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: em-infra\nruntime: go\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.k3s-dev.yaml"), []byte("config: {}\n"), 0o600))
	person = &personWho{answers: "k3s-dev"}
	s, recorded = sessionWith(t, person, false)
	s.workspace.Dir, s.workspace.Home, s.workspace.Backups, s.workspace.Backend = dir, dir, filepath.Join(dir, "backups"), address.OfFolder(t.TempDir())
	s.WithBackups()
	s.On(engine.State{Command: engine.NewCommand(cli, semver.MustParse("3.254.0")), Dir: dir, Project: "em-infra", Stack: "k3s-dev"}, pve.Connection{}, remedy.Place{Name: "k3s-dev", Stack: "--stack k3s-dev"})
	return s, recorded, person, file
}

// stateWith is the text of a state with a resource of these types.
func stateWith(types ...string) string {
	resources := []string{`{"urn": "urn:pulumi:k3s-dev::em-infra::pulumi:pulumi:Stack::em-infra-k3s-dev", "type": "pulumi:pulumi:Stack"}`}
	for _, one := range types {
		resources = append(resources, `{"urn": "urn:pulumi:k3s-dev::em-infra::`+one+`::rotate-talos-ca", "custom": true, "type": "`+one+`"}`)
	}
	return `{"version": 3, "deployment": {"manifest": {"time": "2026-01-02T03:04:05Z"}, "resources": [` + strings.Join(resources, ", ") + `]}}`
}

// TestARestoreTakesNoStateThatOneHasReplaced: the backup of the replaced state is the newest one from then on, and that state was wrong. It is made
// only after all questions and checks.
func TestARestoreTakesNoStateThatOneHasReplaced(t *testing.T) {
	t.Parallel()
	s, _, person, file := stateInFile(t)
	good, err := s.SaveBackup(time.Now().Add(-time.Hour), "after-up", []byte(stateWith("a:b:Good")))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:Wrong")), 0o600))
	person.answers = "no"
	_, err = s.RestoreState(t.Context(), "")
	require.EqualError(t, err, "not confirmed; nothing was touched")
	require.Equal(t, []string{good.Name}, backupNames(t, s))

	person.answers = "k3s-dev"
	var replaced string
	for range 2 { // the second run as after one that was killed before its end
		require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:Wrong")), 0o600))
		restored, err := s.RestoreState(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, good.Name, restored.Backup.Name)
		names := backupNames(t, s)
		require.Contains(t, names[0], "-before-restore")
		replaced = names[0]
	}
	restored, err := s.RestoreState(t.Context(), replaced)
	require.NoError(t, err, "one that is named")
	require.Equal(t, replaced, restored.Backup.Name)

	require.NoError(t, os.Remove(good.Path))
	_, err = s.RestoreState(t.Context(), "")
	require.EqualError(t, err, "all backups are of states that a restore has replaced: give --from the name of one that `em-infra state list --stack k3s-dev` shows")
}

func backupNames(t *testing.T, s *testSession) (names []string) {
	t.Helper()
	copies, err := s.BackupCopies(t.Context())
	require.NoError(t, err)
	for _, one := range copies {
		names = append(names, one.Name)
	}
	return names
}

// TestAStateOfBeforeARotationThatHasNotEnded lacks the new secrets, which may be the only ones that nodes still have, so it is restored only if the
// user names it.
func TestAStateOfBeforeARotationThatHasNotEnded(t *testing.T) {
	t.Parallel()
	s, recorded, _, file := stateInFile(t)
	const rotating = "em-infra:index:Rotation"
	former, err := s.SaveBackup(time.Now().Add(-time.Hour), "before-rotate", []byte(stateWith("a:b:C")))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C", rotating)), 0o600))
	lacks := "a rotation (talos-ca) was begun and has not ended, and the backup " + former.Name + " does not have its new secrets, which nodes may have already"
	_, err = s.RestoreState(t.Context(), "")
	require.EqualError(t, err, lacks+": run `em-infra rotate talos-ca --stack k3s-dev` again, which goes on from there; only if the rotation is to be given up, give --from the name of a backup")
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.Equal(t, []string{former.Name}, backupNames(t, s))

	_, err = s.RestoreState(t.Context(), former.Name)
	require.NoError(t, err)
	require.Contains(t, *recorded, operator.Event(operator.Note{Text: "warning: " + lacks}))

	require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C", rotating)), 0o600))
	during, err := s.SaveBackup(time.Now(), "rotating", []byte(stateWith("a:b:C", rotating)))
	require.NoError(t, err)
	restored, err := s.RestoreState(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, during.Name, restored.Backup.Name)
}

// TestABackupOfAnotherPointOfARotation: a backup of an earlier rotation of the same kind has other secrets, and with a backup from before a step,
// that step would be repeated after later ones.
func TestABackupOfAnotherPointOfARotation(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	with := func(note *rotation.Note) string {
		if note == nil {
			return stateWith("a:b:C")
		}
		s, _, _, file := stateInFile(t)
		require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C")), 0o600))
		exported, err := s.State().Fresh(t.Context())
		require.NoError(t, err)
		note.Replacements = rotation.Replacements{{Old: "0123456789abcdef", New: "fedcba9876543210"}}
		require.NoError(t, note.In(&exported.Deployment))
		require.NoError(t, s.State().Import(t.Context(), exported))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	const again = ": run `em-infra rotate talos-ca --stack k3s-dev` again, which goes on from there; only if the rotation is to be given up, give --from the name of a backup"
	for _, test := range []struct {
		name           string
		present, kept  *rotation.Note
		denied, warned string
	}{
		{"an earlier rotation", &rotation.Note{What: "talos-ca", Begun: begun}, &rotation.Note{What: "talos-ca", Begun: begun.Add(-time.Hour)}, "does not have its new secrets, which nodes may have already", ""},
		{"before a step", &rotation.Note{What: "talos-ca", Begun: begun, Done: 2}, &rotation.Note{What: "talos-ca", Begun: begun, Done: 1}, "is from before its step 2, which is done", ""},
		{"the same point", &rotation.Note{What: "talos-ca", Begun: begun, Done: 2}, &rotation.Note{What: "talos-ca", Begun: begun, Done: 2}, "", ""},
		{"it has ended", nil, &rotation.Note{What: "talos-ca", Begun: begun, Done: 2}, "", "a rotation (talos-ca) was begun and has not ended, which the present state does not have: `em-infra rotate talos-ca --stack k3s-dev` goes on from there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, recorded, _, file := stateInFile(t)
			saved, err := s.SaveBackup(time.Now().Add(-time.Hour), "rotating", []byte(with(test.kept)))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte(with(test.present)), 0o600))
			_, err = s.RestoreState(t.Context(), "")
			if test.denied != "" {
				require.EqualError(t, err, "a rotation (talos-ca) was begun and has not ended, and the backup "+saved.Name+" "+test.denied+again)
				return
			}
			require.NoError(t, err)
			if test.warned != "" {
				require.Contains(t, *recorded, operator.Event(operator.Note{Text: "warning: in the backup " + saved.Name + " " + test.warned}))
			}
		})
	}
}

// TestAStateThatAnswersOnlyOnceIsNotDamaged: a damaged state is replaced without a backup and without the checks, so a failure of its place or of the
// CLI must not count as damage.
func TestAStateThatAnswersOnlyOnceIsNotDamaged(t *testing.T) {
	t.Parallel()
	failsFirst := func(t *testing.T) (*testSession, *recordedEvents) {
		t.Helper()
		s, recorded, _, file := stateInFile(t)
		_, err := s.SaveBackup(time.Now().Add(-time.Hour), "after-up", []byte(stateWith("a:b:Good")))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(stateWith("a:b:C", "em-infra:index:Rotation")), 0o600))
		dir := t.TempDir()
		cli, asked := filepath.Join(dir, "pulumi"), filepath.Join(dir, "asked")
		executabletest.Script(t, cli, `case "$3" in export) if [ -e `+asked+` ]; then cat `+file+`; else : >`+asked+`; echo 503 >&2; exit 1; fi ;; import) cat >`+file+` ;; esac`+"\n")
		s.State().Command = engine.NewCommand(cli, semver.MustParse("3.254.0"))
		return s, recorded
	}

	s, recorded := failsFirst(t)
	_, err := s.RestoreState(t.Context(), "")
	require.ErrorContains(t, err, "a rotation (talos-ca) was begun and has not ended")
	require.NotContains(t, *recorded, operator.Event(operator.StateDamaged{Reason: "503"}))

	s, _ = failsFirst(t)
	away := errors.New("the bucket does not answer")
	s.State().Reach = func() error { return away }
	_, err = s.RestoreState(t.Context(), "")
	require.ErrorIs(t, err, away)
}
