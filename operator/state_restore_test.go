package operator_test

import (
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
