package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	formats "github.com/em-infra/em-infra/internal/output"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// siteOptions returns how the stacks of the project are opened.
func siteOptions(place stackFlags, choices lab.Choices, s streams) operator.SiteOptions {
	options := operator.SiteOptions{Options: func(operator.StackSummary) (operator.Options, error) { return place.options(s, choices) }}
	if place.lab {
		options.Lab = localLab(choices, s.out)
	}
	return options
}

// runSite does an operation on each stack of the project, and prints what comes of it.
func runSite(command *cobra.Command, operation operator.SiteOperation, options operator.SiteOptions) error {
	shown := &sitePrinter{streams: streamsOf(command), command: command, rehearsed: options.Lab != nil}
	options.Events = shown
	result, err := operator.RunSite(command.Context(), operation, options)
	if err != nil {
		return err
	}
	err = result.Err()
	if printed := errors.Join(shown.failed, writeSite(shown.out, operation, result)); printed != nil {
		return errors.Join(err, printed)
	}
	switch {
	case result.Stopped() != nil:
		return err
	case errors.As(err, new(*operator.RefusedError)):
		return errUnsound // each refusal is printed
	default:
		return err
	}
}

// siteWell are the results of stacks on which an operation ended well.
var siteWell = map[operator.SiteOperation]string{
	operator.SiteUp: "up", operator.SitePreview: "no changes", operator.SiteStatus: "sound", operator.SiteDestroy: "gone",
}

// writeSite prints what came of each stack, and what to do after one that an operation has stopped at.
func writeSite(out io.Writer, operation operator.SiteOperation, result *operator.SiteResult) error {
	table := terminal.Table{Header: []string{"STACK", "KIND", "RESULT"}}
	for _, one := range result.Stacks {
		text := string(one.Outcome)
		if one.Outcome == operator.SiteWell {
			text = siteWell[operation]
		}
		table.Rows = append(table.Rows, []string{one.Stack, string(one.Kind), text})
	}
	if err := table.Write(out); err != nil {
		return err
	}
	if stopped := result.Stopped(); stopped != nil {
		fmt.Fprintf(out, "stopped at %s: %s\n", stopped.Stack, fmt.Sprintf(siteAgain[operation], typed("site %s", operation)))
	}
	return nil
}

const (
	goesOn     = "do what its message says, then run `%s` again, which goes on from there"
	beginsAnew = "run `%s` again, which begins with the first stack"
)

// siteAgain is what to do after an operation that has stopped at a stack. One that only looks at stacks stops after an interrupt only.
var siteAgain = map[operator.SiteOperation]string{
	operator.SiteUp: goesOn, operator.SitePreview: beginsAnew, operator.SiteStatus: beginsAnew, operator.SiteDestroy: goesOn,
}

// sitePrinter prints the begin and the end of each stack.
type sitePrinter struct {
	streams
	command   *cobra.Command
	rehearsed bool
	failed    error // the first result that could not be printed
}

// Begun implements [operator.SiteEvents].
func (p *sitePrinter) Begun(stack operator.SiteStack) {
	fmt.Fprintf(p.out, "%s\n", terminal.Paint(p.out, terminal.Strong, fmt.Sprintf("%s (%s), %d of %d", stack.Stack, stack.Kind, stack.Number, stack.Of)))
}

// Ended implements [operator.SiteEvents]. The error of the stack that a run stops at is that of the command, which is printed last.
func (p *sitePrinter) Ended(stack operator.SiteStack) {
	p.failed = cmp.Or(p.failed, p.result(stack))
	if !stack.Stops {
		printError(p.command.Context(), p.streams, p.command, stack.Err)
	}
	fmt.Fprintln(p.out)
}

// result prints the result of the operation on a stack, if it had one.
func (p *sitePrinter) result(stack operator.SiteStack) error {
	switch {
	case stack.Up != nil:
		return printUp(p.out, stack.Stack, stack.Up, remedy.On(stack.Stack, "", p.rehearsed).Stack)
	case stack.Preview != nil:
		flags := previewFlags{output: formats.Text}
		return flags.write(p.out, stack.Preview)
	case stack.Status != nil:
		return writeResult(p.out, formats.Text, stack.Status)
	case stack.Destroyed != nil:
		printGone(p.out, stack.Stack, stack.Destroyed)
	}
	return nil
}
