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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// interruptedText returns the message after an interrupt of a command. It keeps the lines of the error that name what the user has to do besides
// running the command again, such as to uncordon a node, and the errors that were joined with the failure of an engine.
func interruptedText(command *cobra.Command, err error) string {
	isBeside := failureIn(err) != nil
	var kept []string
	for _, part := range parts(err) {
		byItself := !isInterrupt(part)
		for line := range strings.SplitSeq(errorText(part), "\n") {
			if isBeside && byItself && line != "" || namesOther(line, command, byItself) {
				kept = append(kept, line)
			}
		}
	}
	if !isBeside { // otherwise it is printed with the failure
		kept = append(kept, cmp.Or(afterInterrupt[command.Name()], "interrupted; the same command goes on from here"))
	}
	return strings.Join(kept, "\n")
}

// parts returns the errors that are joined in an error; the error itself if it is no join.
func parts(err error) []error {
	joined, isJoined := err.(interface{ Unwrap() []error }) //nolint:errorlint // only a join is taken apart
	if !isJoined {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, parts(one)...)
	}
	return all
}

// isInterrupt reports whether an error follows from the end of the context. Errors of the Talos API have a code for it, and those of other programs
// only the text.
func isInterrupt(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled || strings.Contains(err.Error(), context.Canceled.Error())
}

// namesOther reports whether a line ends with another command than the one that was interrupted. One of em-infra counts only if the error does not
// follow from the interrupt, because its cause is gone then.
func namesOther(line string, interrupted *cobra.Command, byItself bool) bool {
	commands := remedy.Commands(line)
	if slices.ContainsFunc(commands, func(command string) bool { return program(command) == "kubectl" }) {
		return true
	}
	return byItself && len(commands) > 0 && !strings.HasPrefix(commands[len(commands)-1]+" ", interrupted.CommandPath()+" ")
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
	if text != "" && errors.Is(context.Cause(ctx), errInterrupted) {
		text = interruptedText(executed, err)
	}
	if text == "" {
		return
	}
	if reason, isRefusal := strings.CutPrefix(text, refusedPrefix); isRefusal {
		text = terminal.Paint(s.err, terminal.Bad, refusedPrefix) + reason
	}
	fmt.Fprintln(s.err, asTyped(placeOf(executed).Complete(text)))
	if hint := pulumiHint(text, executed); hint != "" {
		fmt.Fprintln(s.err, hint)
	}
}
