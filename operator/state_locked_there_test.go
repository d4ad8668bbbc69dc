package operator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/operator"
)

const (
	lockBelow  = ".pulumi/locks/organization/em-infra/k3s-dev/one.json"
	claimBelow = ".pulumi/claims/em-infra/k3s-dev/run.json"
	stateBelow = ".pulumi/stacks/em-infra/k3s-dev.json"
)

// movedState is a move from one folder to another with a CLI that refuses a state that is locked, as the real one does.
type movedState struct {
	*testSession

	from, to, calls string
}

func moving(t *testing.T) movedState {
	t.Helper()
	root := t.TempDir()
	s, _ := sessionOf(t, operator.Options{Stack: "k3s-dev"}, false, atNine)
	m := movedState{s, filepath.Join(root, "old"), filepath.Join(root, "new"), filepath.Join(root, "calls")}
	cli := filepath.Join(root, "pulumi")
	executabletest.Script(t, cli, `folder="${PULUMI_BACKEND_URL#file://}"
if [ "$3" = export ]; then
	if [ ! -e "$folder/`+stateBelow+`" ]; then exit 6; fi
	echo '{"version":3,"deployment":{"manifest":{"time":"`+atNine().Format(time.RFC3339)+`"}}}'
	exit 0
fi
if [ -e "$folder/`+lockBelow+`" ]; then echo "the stack is currently locked by 1 lock(s)" >&2; exit 255; fi
claimed=""
if [ -e "$folder/`+claimBelow+`" ]; then claimed=" in a claimed place"; fi
echo "$3$claimed" >>`+m.calls+`
case "$3" in
init) mkdir -p "$folder/.pulumi/stacks/em-infra"; cp `+filepath.Join(m.from, stateBelow)+` "$folder/`+stateBelow+`";;
rm) rm "$folder/`+stateBelow+`";;
esac
`)
	writeBelow(t, m.from, stateBelow, checkpointOf(t, atNine()))
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.k3s-dev.yaml"), []byte("config:\n  em-infra:a: b\n"), 0o600))
	s.workspace.Dir, s.workspace.Home, s.workspace.Backups = root, root, filepath.Join(root, "backups")
	s.State().State = engine.State{
		Command: engine.NewCommand(cli, semver.MustParse("3.254.0")), Dir: root, Project: "em-infra", Stack: "k3s-dev", Env: map[string]string{},
	}
	require.NoError(t, os.Mkdir(m.to, 0o700))
	m.isAt(m.from)
	return m
}

// isAt sets the present place of the state.
func (m movedState) isAt(folder string) {
	m.workspace.Backend = address.OfFolder(folder)
	m.State().Env["PULUMI_BACKEND_URL"] = m.workspace.Backend
}

// lock writes the lock of an engine below a folder: of one that is dead, or of one on another machine.
func (m movedState) lock(t *testing.T, folder, host string) {
	t.Helper()
	engine := exec.CommandContext(t.Context(), "true")
	require.NoError(t, engine.Run())
	pid := engine.ProcessState.Pid()
	if host == "" {
		var err error
		host, err = os.Hostname()
		require.NoError(t, err)
	} else {
		pid = 7
	}
	writeBelow(t, folder, lockBelow, fmt.Appendf(nil, `{"pid":%d,"hostname":%q}`, pid, host))
}

func (m movedState) ran(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(m.calls)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// busyThere is the refusal for the lock of an engine on another machine.
func busyThere(folder string) string {
	return "another run works in " + address.OfFolder(folder) + " on the state of stack k3s-dev (process 7 on desk.invalid): wait for it to end, then run again; " +
		"if it is dead for certain, delete .pulumi/claims/em-infra/k3s-dev and .pulumi/locks/organization/em-infra/k3s-dev there"
}

// TestAMoveIntoALockedPlace: the lock of a dead engine there is removed, and any other lock is refused, with what to do.
func TestAMoveIntoALockedPlace(t *testing.T) {
	t.Parallel()
	m := moving(t)
	m.lock(t, m.to, "desk.invalid")
	err := m.MoveTo(t.Context(), address.OfFolder(m.to))
	require.EqualError(t, err, busyThere(m.to))
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.NoFileExists(t, m.calls)

	m.lock(t, m.to, "")
	require.NoError(t, m.MoveTo(t.Context(), address.OfFolder(m.to)))
	require.Equal(t, []string{"init in a claimed place", "rm in a claimed place"}, m.ran(t))
	for _, folder := range []string{m.from, m.to} {
		require.NoFileExists(t, filepath.Join(folder, claimBelow))
	}
	require.FileExists(t, filepath.Join(m.to, stateBelow))
	require.NoFileExists(t, filepath.Join(m.from, stateBelow))
}

// TestAMoveOutOfALockedPlaceIsFinished: the engine that removed the old state was killed, and its lock is there.
func TestAMoveOutOfALockedPlaceIsFinished(t *testing.T) {
	t.Parallel()
	m := moving(t)
	m.isAt(m.to)
	note, err := json.Marshal(map[string]any{"from": address.OfFolder(m.from), "written": atNine(), "complete": true})
	require.NoError(t, err)
	writeBelow(t, m.to, ".em-infra/arriving/em-infra/k3s-dev.json", note)
	m.lock(t, m.from, "desk.invalid")
	_, err = m.FinishMove(t.Context())
	require.EqualError(t, err, busyThere(m.from))

	m.lock(t, m.from, "")
	finished, err := m.FinishMove(t.Context())
	require.NoError(t, err)
	require.True(t, finished)
	require.Equal(t, []string{"rm"}, m.ran(t))
	require.NoFileExists(t, filepath.Join(m.from, stateBelow))
}
