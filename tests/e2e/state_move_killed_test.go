package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// moveOfAState is a move of the state of a rehearsal from one folder to another.
type moveOfAState struct {
	*rehearsal
	from, to string
}

// TestE2EAMoveOfTheStateIsKilled: the state in use is complete at any time, a move that is run again ends well, and nothing of the state is left in
// the place that it came from. Each move begins where the one before ended.
func TestE2EAMoveOfTheStateIsKilled(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	one, other := filepath.Join(r.dir(), "state"), t.TempDir()

	begun := moveOfAState{r, one, other}
	begun.isKilled("the copy is begun", func() bool { return begun.hasState(begun.to) })
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "k3s-dev is up in ", "on the old state")
	begun.isRun()

	copied := moveOfAState{r, other, one}
	copied.isKilled("the copy is complete", func() bool { return strings.Contains(copied.noteIn(copied.to, "arriving"), `"complete":true`) })
	copied.isRun()

	named := moveOfAState{r, one, other}
	named.isKilled("the new place is named", func() bool { return strings.Contains(named.stackFile(), "em-infra:backend: file://"+named.to) })
	require.True(t, named.hasState(named.from), "it was killed before the old state was removed")
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "recover    the move of the state from file://"+named.from+" was cut off: what was left there is removed\n")
	named.hasEnded()
	require.Contains(t, r.mustRun(3, "state", "migrate", "--lab", "--yes", "--to", "file://"+named.to), "the state is there already")
}

// isKilled begins the move, and kills all of it at a point.
func (m moveOfAState) isKilled(point string, reached func() bool) {
	m.t.Helper()
	command, output := m.begin("state", "migrate", "--lab", "--yes", "--to", "file://"+m.to)
	m.eventually(point, reached)
	for _, pid := range append([]int{command.Process.Pid}, descendants(m.t, command.Process.Pid)...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != syscall.ESRCH {
			require.NoError(m.t, err)
		}
	}
	require.Error(m.t, command.Wait(), "the move ended before it was killed: %s", output)
}

// isRun runs the move again.
func (m moveOfAState) isRun() {
	m.t.Helper()
	m.mustRun(0, "state", "migrate", "--lab", "--yes", "--to", "file://"+m.to)
	m.hasEnded()
}

// hasEnded checks both places: the state is in the new one, and nothing would change.
func (m moveOfAState) hasEnded() {
	m.t.Helper()
	require.False(m.t, m.hasState(m.from))
	require.True(m.t, m.hasState(m.to))
	require.Contains(m.t, m.noteIn(m.from, "moved"), `"to":"file://`+m.to+`"`)
	for _, folder := range []string{m.from, m.to} {
		require.Empty(m.t, m.noteIn(folder, "arriving"))
	}
	require.Empty(m.t, m.noteIn(m.to, "moved"))
	m.mustRun(0, "preview", "--lab")
}

func (m moveOfAState) hasState(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, ".pulumi", "stacks", "em-infra", m.stack+".json"))
	return err == nil
}

// noteIn returns the note of a kind on the stack in a folder; empty if there is none.
func (m moveOfAState) noteIn(folder, kind string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, ".em-infra", kind, "em-infra", m.stack+".json"))
	if !os.IsNotExist(err) {
		require.NoError(m.t, err)
	}
	return string(text)
}

func (m moveOfAState) stackFile() string {
	m.t.Helper()
	return m.read(filepath.Join(m.dir(), "Pulumi."+m.stack+".yaml"))
}
