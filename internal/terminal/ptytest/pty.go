// Package ptytest runs commands on a pseudo-terminal, for tests of what a person sees.
package ptytest

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

// Environment returns an environment with variables in place of those that describe the terminal.
func Environment(environment []string, variables ...string) []string {
	var kept []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "TERM", "CI", "NO_COLOR":
		default:
			kept = append(kept, entry)
		}
	}
	return append(append(kept, "TERM=xterm-256color"), variables...)
}

// RequireFits checks that no line of a screen is longer than its columns, unless it is a single word. For a line that was overwritten, only the last
// text counts.
func RequireFits(t testing.TB, screen string, columns int) {
	t.Helper()
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if ansi.StringWidth(line) <= columns {
			continue
		}
		words := strings.Fields(strings.TrimSuffix(line, ` \`))
		require.LessOrEqual(t, len(words), 1, "%d columns: %s", ansi.StringWidth(line), line)
	}
}
