package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/terminal"
)

func TestWriterFoldsWholeLines(t *testing.T) {
	t.Parallel()
	var screen strings.Builder
	w := terminal.NewFolded(&screen, 40, false)
	fmt.Fprint(w, "nothing was touched but the ")
	require.Empty(t, screen.String(), "a line is folded when it is whole")
	fmt.Fprint(w, "machines that were started\nType the name: ")
	require.Equal(t, "nothing was touched but the machines\n  that were started\n", screen.String())
	require.NoError(t, terminal.Flush(w))
	require.True(t, strings.HasSuffix(screen.String(), "\nType the name: "), "a question has no end")
	fmt.Fprint(w, "half")
	fmt.Fprint(terminal.Raw(w), " a line that goes to the screen as it is, however long\n")
	require.True(t, strings.HasSuffix(screen.String(), "half a line that goes to the screen as it is, however long\n"))
}

func TestAPipeGetsWhatWasWritten(t *testing.T) {
	t.Parallel()
	var pipe strings.Builder
	choice := terminal.ColorAuto
	w := terminal.New(&pipe, &choice, func(string) string { return "xterm" })
	line := strings.Repeat("word ", 40) + "\n"
	fmt.Fprint(w, terminal.Paint(w, terminal.Bad, "FAIL")+line)
	require.Equal(t, "FAIL"+line, pipe.String())
	require.Zero(t, terminal.Width(w))

	choice = terminal.ColorAlways
	require.Equal(t, "\x1b[1;31mFAIL\x1b[m", terminal.Paint(w, terminal.Bad, "FAIL"))
	require.Equal(t, "FAIL", terminal.Paint(&pipe, terminal.Bad, "FAIL"), "another writer has no colours")
}

func TestColorChoice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		choice     terminal.ColorChoice
		onTerminal bool
		variables  map[string]string
		want       bool
	}{
		{"a terminal", terminal.ColorAuto, true, map[string]string{"TERM": "xterm"}, true},
		{"a pipe", terminal.ColorAuto, false, map[string]string{"TERM": "xterm"}, false},
		{"NO_COLOR", terminal.ColorAuto, true, map[string]string{"TERM": "xterm", "NO_COLOR": "yes"}, false},
		{"NO_COLOR without a value", terminal.ColorAuto, true, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true},
		{"CI", terminal.ColorAuto, true, map[string]string{"TERM": "xterm", "CI": "true"}, false},
		{"a dumb terminal", terminal.ColorAuto, true, map[string]string{"TERM": "dumb"}, false},
		{"a terminal of no name", terminal.ColorAuto, true, nil, false},
		{"always", terminal.ColorAlways, false, map[string]string{"NO_COLOR": "1"}, true},
		{"never", terminal.ColorNever, true, map[string]string{"TERM": "xterm"}, false},
	} {
		require.Equal(t, test.want, terminal.Wanted(test.choice, test.onTerminal, func(name string) string { return test.variables[name] }), test.name)
	}
	var choice terminal.ColorChoice
	require.NoError(t, choice.Set("never"))
	require.Equal(t, terminal.ColorNever, choice)
	require.EqualError(t, choice.Set("pink"), `"pink" is no choice: say auto, always, never`)
}
