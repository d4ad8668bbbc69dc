package main

import (
	"fmt"
	"io"

	"github.com/em-infra/em-infra/operator"
)

// printFailure prints the end of a run whose engine failed: the error, its meaning if it is known, and the next command.
func printFailure(out io.Writer, failure *operator.FailedError) {
	again := typed("%s", failure.Again)
	if failure.Interrupted {
		fmt.Fprintf(out, "\ninterrupted; the state is saved and says what exists. Go on with: %s\n", again)
		return
	}
	for _, one := range failure.Causes {
		one.WriteText(out)
	}
	fmt.Fprintf(out, "\n%s failed. What was done is in the state, so it is safe to run again: %s\n", failure.Operation, again)
}
