//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
)

// insideTerminal makes the test's own program the tool: its arguments are those of a command line.
const insideTerminal = "EM_INFRA_TEST_TERMINAL"

// TestATerminalThatDoesNotAnswer checks that no command queries the terminal: the output to one that never answers contains no
// escape sequence, and no command waits. Only a starting process can show that, so the test starts itself.
func TestATerminalThatDoesNotAnswer(t *testing.T) {
	if arguments := os.Getenv(insideTerminal); arguments != "" {
		ci, found := os.LookupEnv("CI")
		fmt.Printf("CI=%q %t\n", ci, found)
		os.Exit(run(t.Context(), streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, strings.Fields(arguments)))
	}
	t.Parallel()
	folder, err := filepath.Abs("../../stacks/k3s-dev")
	require.NoError(t, err)
	for _, test := range []struct {
		name      string
		variables []string
		want      string
	}{
		{"by hand", nil, `CI="" false`},
		{"with an empty CI", []string{"CI="}, `CI="" true`},
		{"in CI", []string{"CI=yes"}, `CI="yes" true`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			written := onMuteTerminal(t, append(test.variables, insideTerminal+"=validate --inventory "+folder)...)
			require.Contains(t, written, "is sound")
			require.NotContains(t, written, "\x1b")
			require.Contains(t, written, test.want, "the environment is what it was")
		})
	}
}

// TestOnATerminal: a real terminal of 80 columns shows no line that wraps, and colours unless they are not wanted.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	const command = insideTerminal + "=explain the connection said x509: certificate has expired or is not yet valid, or " + lockError
	for _, test := range []struct {
		name      string
		variables []string
		flags     string
		colored   bool
	}{
		{"auto", nil, "", true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, "", false},
		{"CI", []string{"CI=true"}, "", false},
		{"dumb", []string{"TERM=dumb"}, "", false},
		{"never", nil, " --color never", false},
		{"always, in CI", []string{"CI=true"}, " --color always", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			written := onMuteTerminal(t, append(test.variables, command+test.flags)...)
			ptytest.RequireFits(t, written, terminal.Columns)
			require.Contains(t, written, "\n                 ", "a long line is folded below its label")
			require.Equal(t, test.colored, strings.Contains(written, "\x1b[1mdo"), written)
			require.Equal(t, test.colored, strings.Contains(written, "\x1b["))
		})
	}
}

// onMuteTerminal runs this test in a session of its own whose terminal never answers, and returns what it wrote there.
func onMuteTerminal(t *testing.T, variables ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	process := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestATerminalThatDoesNotAnswer$")
	process.Env = ptytest.Environment(os.Environ(), variables...)
	written, err := ptytest.Run(t, process, 0)
	require.NoError(t, err, written)
	return written
}
