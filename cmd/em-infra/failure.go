package main

import (
	"fmt"
	"io"

	"github.com/em-infra/em-infra/operator"
)

// printFailure prints the end of a run whose engine failed: the error, its meaning if it is known, and the next command.
func printFailure(out io.Writer, failure *operator.FailedError) {
	defer printWaysBack(out, failure.WaysBack)
	again := typed("%s", failure.Again)
	for _, one := range failure.Causes {
		one.WriteText(out)
	}
	if failure.Interrupted {
		fmt.Fprintf(out, "\ninterrupted; %s. Go on with: %s\n", failure.Interruption(), again)
		return
	}
	fmt.Fprintf(out, "\n%s failed. What was done is in the state, so it is safe to run again: %s\n", failure.Operation, again)
}

// printWaysBack prints how to roll systems back that the run may have changed.
func printWaysBack(out io.Writer, ways []string) {
	if len(ways) == 0 {
		return
	}
	fmt.Fprintln(out, "or go back to how a system was before this run, without what was written on its disks since, and put systems.yaml back:")
	for _, way := range ways {
		fmt.Fprintf(out, "  %s\n", way)
	}
}
