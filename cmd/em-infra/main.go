// Command em-infra is the operator's tool: the program of package stacks under the Automation API, with the manners of a
// tool that somebody uses alone, at night.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:])) }

// run executes one command and returns the exit code. The first Ctrl-C asks the command to end well; a second one is
// the default: it ends the process.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	command := newRootCommand()
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if text := errorText(err); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	return exitCode(err)
}
