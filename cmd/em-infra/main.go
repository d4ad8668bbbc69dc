// Command em-infra is the command line of package operator: flags, printing and exit codes.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func main() {
	os.Exit(run(context.Background(), streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
}

// refusedPrefix begins the message of a run that stops before it changes anything.
const refusedPrefix = "refused:"

// run executes one command and returns the exit code. The error is printed as one sentence on the error stream.
func run(ctx context.Context, s streams, args []string) int {
	klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true)) // client-go returns what it logs as well, and would write it between our lines
	ctx, stop := withInterrupts(ctx, s.err)
	defer stop()

	command := newRootCommand()
	colors := colorsOf(command)
	s.out, s.err = terminal.New(s.out, colors, os.Getenv), terminal.New(s.err, colors, os.Getenv)
	command.SetArgs(args)
	command.SetIn(s.in)
	command.SetOut(s.out)
	command.SetErr(s.err)
	executed, err := command.ExecuteContextC(ctx)
	printError(ctx, s, executed, err)
	_ = errors.Join(terminal.Flush(s.out), terminal.Flush(s.err)) // errors of a closed stream cannot be reported
	return exitCode(err)
}

// afterInterrupt are the messages after an interrupt, for the commands that do not go on from where they were.
var afterInterrupt = map[string]string{
	"reboot":   "interrupted; the same command begins anew: name only the nodes that it has not rebooted yet",
	"rollback": "interrupted; a second rollback goes forward again: see with `em-infra status` which release the node runs before you run it again",
}

// interruptedText returns the message after an interrupt of a command. It keeps only the lines of the error that name what the user has to do, such
// as to uncordon a node.
func interruptedText(command, text string) string {
	kept := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return !slices.ContainsFunc(remedy.Commands(line), func(command string) bool { return program(command) == "kubectl" })
	})
	return strings.Join(append(kept, cmp.Or(afterInterrupt[command], "interrupted; the same command goes on from here")), "\n")
}

// program returns the first word of a command.
func program(command string) string {
	name, _, _ := strings.Cut(command, " ")
	return name
}

// printError prints the part of an error that is not printed yet.
func printError(ctx context.Context, s streams, executed *cobra.Command, err error) {
	if failure := failureIn(err); failure != nil {
		printFailure(s.out, failure)
	}
	text := errorText(err)
	if text == "" {
		return
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		text = interruptedText(executed.Name(), text)
	}
	if reason, isRefusal := strings.CutPrefix(text, refusedPrefix); isRefusal {
		text = terminal.Paint(s.err, terminal.Bad, refusedPrefix) + reason
	}
	fmt.Fprintln(s.err, asTyped(placeOf(executed).Complete(text)))
	if hint := pulumiHint(text, executed); hint != "" {
		fmt.Fprintln(s.err, hint)
	}
}
