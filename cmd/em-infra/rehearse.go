package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// rehearseFlags are the flags of rehearse.
type rehearseFlags struct {
	stackFlags
	choices lab.Choices
	keep    bool
	output  string
}

func newRehearseCommand() *cobra.Command {
	flags := rehearseFlags{stackFlags: stackFlags{lab: true}}
	command := &cobra.Command{
		Use:   "rehearse --stack STACK",
		Short: "Run the whole life of the cluster on a lab of its own; exit code 1 if anything is not as expected",
		Long: `Run the whole life of the cluster on an emulated host: preflight, up, a preview in which nothing may change, one worker
more, one worker less, destroy. After each step the result is compared with the inventory, and every difference is reported.
Nothing real is touched, and no lab of the stack either: the rehearsal has its own lab under .lab/STACK-rehearsal, which is
removed at the end unless something was not as expected, and before the next rehearsal.`,
		Example: "  em-infra rehearse --stack k3s-dev\n  em-infra rehearse --stack k3s-dev --keep   # and look at it afterwards",
		RunE: func(command *cobra.Command, _ []string) error {
			return rehearse(command.Context(), flags, streamsOf(command))
		},
	}
	flags.bindPlace(command)
	command.Flags().BoolVar(&flags.keep, "keep", false, "do not destroy at the end: leave the cluster and its lab running")
	bindChoices(command, &flags.choices)
	bindOutput(command, &flags.output)
	return command
}

// rehearse runs the rehearsal and prints its result. If the result is JSON, progress goes to the error stream.
func rehearse(ctx context.Context, flags rehearseFlags, s streams) error {
	if err := checkOutput(flags.output); err != nil {
		return err
	}
	progress := s
	if flags.output == outputJSON {
		progress = s.aside()
	}
	o, err := flags.openChosen(progress, flags.choices)
	if err != nil {
		return err
	}
	rehearsed, err := o.Rehearse(ctx, operator.RehearseOptions{
		Keep: flags.keep,
		Log:  func(log io.Writer) operator.Events { return printer{streams: streams{out: log, err: log}} },
	})
	if err != nil {
		return err
	}
	if flags.output == outputJSON {
		err = rehearsed.Report.WriteJSON(s.out)
	} else {
		flags.printVerdict(s.out, rehearsed)
	}
	if err != nil {
		return err
	}
	return rehearsed.Err()
}

// printVerdict prints whether the rehearsal succeeded, and the commands to inspect it.
func (f rehearseFlags) printVerdict(out io.Writer, r *operator.Rehearsal) {
	tone := terminal.Good
	if !r.Report.Expected {
		tone = terminal.Bad
	}
	fmt.Fprintf(out, "\n%s\n", terminal.Paint(out, tone, r.Report.Verdict()))
	switch {
	case f.keep:
		printNext(out, "it runs on", typed("preview %s", r.Place), typed("destroy %s --yes", r.Place), typed("lab stop --stack %s", r.Stack))
	case !r.Report.Expected:
		fmt.Fprintf(out, "  log  %s\n", workspace.Nearby(r.Log))
		printNext(out, "its host comes back with", typed("lab start --stack %s --inventory %s", r.Stack, r.Inventory))
	}
}
