package editor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/editor"
	"github.com/em-infra/em-infra/internal/executabletest"
)

// script returns an editor that is a script of the shell; $1 is the file.
func script(t *testing.T, text string) editor.Editor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my editor")
	executabletest.Script(t, path, text+"\n")
	return editor.Editor{Command: "'" + path + "'", Folder: t.TempDir()}
}

// requireGone checks that no text is left in clear.
func requireGone(t *testing.T, e editor.Editor) {
	t.Helper()
	left, err := os.ReadDir(e.Folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	e := script(t, `stat -c %a "$1" "$(dirname "$1")" > "$1.modes"; cat "$1" "$1.modes" > "$1.new"; cat "$1.new" > "$1"; cp "$1" "$1~"`)
	edited, err := e.Edit(t.Context(), "secrets.yaml", []byte("token: one\n"))
	require.NoError(t, err)
	require.Equal(t, "token: one\n600\n700\n", string(edited))
	requireGone(t, e)
}

func TestAnEditorThatFails(t *testing.T) {
	t.Parallel()
	e := script(t, `echo broken > "$1"; exit 3`)
	_, err := e.Edit(t.Context(), "secrets.yaml", []byte("token: one\n"))
	require.ErrorIs(t, err, editor.ErrFailed)
	require.ErrorContains(t, err, "my editor: exit status 3): set $EDITOR to one that works, then run this again")
	requireGone(t, e)

	none := editor.Editor{Command: "no-such-editor -w", Folder: t.TempDir()}
	_, err = none.Edit(t.Context(), "secrets.yaml", nil)
	require.EqualError(t, err, `the editor failed (no-such-editor: exec: "no-such-editor": executable file not found in $PATH): `+
		"set $EDITOR to one that works, then run this again")
	requireGone(t, none)

	unclosed := editor.Editor{Command: "'vi", Folder: t.TempDir()}
	_, err = unclosed.Edit(t.Context(), "secrets.yaml", nil)
	require.EqualError(t, err, `the editor failed: $EDITOR is not a command line ("'vi"): correct it`)
}

// TestASignalLeavesNoTextInClear: the editor sends it to this process, as a forge or a closed terminal does.
func TestASignalLeavesNoTextInClear(t *testing.T) { //nolint:paralleltest // a signal is for the whole process
	e := script(t, `kill -TERM $PPID; exec sleep 600`)
	_, err := e.Edit(t.Context(), "secrets.yaml", []byte("token: one\n"))
	require.ErrorContains(t, err, "it was ended by a signal")
	requireGone(t, e)

	e = script(t, `kill -INT $PPID; echo "token: two" > "$1"`)
	edited, err := e.Edit(t.Context(), "secrets.yaml", []byte("token: one\n"))
	require.NoError(t, err, "a Ctrl-C is the editor's own")
	require.Equal(t, "token: two\n", string(edited))
	requireGone(t, e)
}
