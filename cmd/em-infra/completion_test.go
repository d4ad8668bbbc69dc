package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, values string }{
		{"status --stack", "k3s-dev"},
		{"state restore --stack", "k3s-dev"},
		{"up --until", "generate provision bootstrap addons verify"},
		{"up --only", "generate provision bootstrap addons verify"},
		{"preview --allow-change", "secrets"},
		{"drift --output", "text json"},
	} {
		result := em(t.Context(), append(append([]string{"__complete"}, strings.Fields(test.line)...), "")...)
		require.Equal(t, exitOK, result.code, result.err)
		completed, _, _ := strings.Cut(result.out, "\n:")
		require.Equal(t, test.values, strings.Join(strings.Fields(completed), " "), test.line)
	}
}

func TestNoStackIsCompletedOutsideOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, ":4\n", em(t.Context(), "__complete", "status", "--stack", "").out)
}
