package explain_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/explain"
)

const (
	page     = "../../../docs/errors.md"
	failures = "../../../docs/failures.md"
)

// TestErrorsPage: docs/errors.md contains every row with the explanation of one of its examples.
func TestErrorsPage(t *testing.T) {
	t.Parallel()
	golden.Equal(t, page, errorsPage())
}

func errorsPage() string {
	var text strings.Builder
	fmt.Fprintf(&text, `<!-- Made by go test ./operator/internal/explain -update; do not edit. -->
# Errors, and what mends them

A run that fails says this by itself. For an error from elsewhere, paste it into `+"`em-infra explain`"+`. For an error that
is not on this page, the command names the nearest one that is, as a guess, and where to look: the host's and the nodes' logs,
the state, the lab. What is done against failures that others have reported is in [failures.md](failures.md).

`)
	for _, name := range explain.Names() {
		e := explain.Text(examples[name][0])[0]
		fmt.Fprintf(&text, "## %s\n\n```\n%s\n```\n\n- means: %s\n- do: %s\n- safe: %s\n- from: %s\n\n", e.Speaker+": "+name, e.Said, e.Meaning, e.Do, e.Safe, e.Source)
	}
	text.WriteString("Next: [failures.md](failures.md), the failures that this project is built against.\n")
	return text.String()
}

// TestEveryFailureIsDescribed: every number of a failure is described in docs/failures.md.
func TestEveryFailureIsDescribed(t *testing.T) {
	t.Parallel()
	described, err := os.ReadFile(failures)
	require.NoError(t, err)
	for name, texts := range examples {
		number := explain.Text(texts[0])[0].Failure
		if number == "" {
			continue
		}
		require.Regexp(t, `(?m)^\| (F\d+, )*`+regexp.QuoteMeta(number)+`(, F\d+)* \|`, string(described), "row %s", name)
	}
}
