package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// printFailure is the end of a run whose engine failed: what is wrong, what that means as far as it is known, and what to run next.
func printFailure(out io.Writer, failure *operator.FailedError) {
	again := typed("%s", failure.Again)
	if failure.Interrupted {
		fmt.Fprintf(out, "\ninterrupted; the state is saved and says what exists. Go on with: %s\n", again)
		return
	}
	for _, one := range failure.Causes {
		printCause(out, one)
	}
	fmt.Fprintf(out, "\n%s failed. What was done is in the state, so it is safe to run again: %s\n", failure.Operation, again)
}

// printCause prints what is known about what went wrong, or quotes it, and counts what failed with it.
func printCause(out io.Writer, one operator.Cause) {
	where := ""
	if one.Name != "" {
		where = fmt.Sprintf(" in %s: %s", one.Phase, one.Name)
	}
	fmt.Fprintf(out, "\n%s%s\n", terminal.Paint(out, terminal.Bad, "failed"), where)
	for _, explanation := range one.Explanations {
		printExplanation(out, explanation)
	}
	if len(one.Explanations) == 0 {
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(one.Text, "\n", "\n  "))
	}
	printOthers(out, one.Because, "because of this")
	printOthers(out, one.Alike, "in the same way")
}

// printOthers counts what failed with something else, and names it as far as that is read.
func printOthers(out io.Writer, others []string, how string) {
	const enough = 5
	if len(others) == 0 {
		return
	}
	names := others[:min(enough, len(others))]
	if more := len(others) - len(names); more > 0 {
		names = append(slices.Clone(names), fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(out, "  %d more failed %s: %s\n", len(others), how, strings.Join(names, ", "))
}
