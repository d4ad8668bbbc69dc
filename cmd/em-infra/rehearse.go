package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/rehearsal"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

// rehearseFlags say how a stack is rehearsed.
type rehearseFlags struct {
	stackFlags
	choices labChoices
	keep    bool
	output  string
}

// readyPatience is for Nodes that are not Ready when up ends; they are in seconds, unless something is wrong.
const readyPatience = 2 * time.Minute

func newRehearseCommand() *cobra.Command {
	flags := rehearseFlags{stackFlags: stackFlags{lab: true}}
	command := &cobra.Command{
		Use:   "rehearse --stack STACK",
		Short: "Live the life of the cluster in one go, on a lab of its own; exit code 1 when anything is not as expected",
		Long: `Live the life of the cluster in one go on an emulated host: preflight, up, a preview in which nothing may change,
one worker more, one worker less, destroy. What is found after each step is held against the inventory, and every difference is
told. Nothing real is touched, and neither is a lab of the stack: the rehearsal has its own, under .lab/STACK-rehearsal,
which is removed at the end unless something was not as expected, and before the next one begins.`,
		Example: "  em-infra rehearse --stack k3s-dev\n  em-infra rehearse --stack k3s-dev --keep   # and look at it afterwards",
		RunE: func(command *cobra.Command, _ []string) error {
			return rehearse(command.Context(), flags, streamsOf(command))
		},
	}
	flags.bindPlace(command)
	command.Flags().BoolVar(&flags.keep, "keep", false, "do not destroy at the end: leave the cluster and its lab running")
	flags.choices.bind(command)
	bindOutput(command, &flags.output)
	return command
}

// rehearse lives the life and reports. What is said while it lasts goes to the error stream where a program reads the
// report.
func rehearse(ctx context.Context, flags rehearseFlags, s streams) error {
	if err := checkOutput(flags.output); err != nil {
		return err
	}
	progress := s.out
	if flags.output == outputJSON {
		progress = s.err
	}
	started := time.Now()
	_, inv, err := flags.load()
	if err != nil {
		return refused(err)
	}
	extended, err := rehearsal.WithAWorkerMore(inv)
	if err != nil {
		return refused(err)
	}
	report := rehearsal.NewReport(inv.Cluster.Name)
	said := func(step rehearsal.Step) { step.Write(progress) }
	validated := rehearsal.Step{Name: "validate", Note: sound(inv, extended), Seconds: time.Since(started).Seconds()}
	report.Add(validated)

	// The tools are there before the first time is taken.
	if _, err := toolchain.Install(ctx, toolchain.Options{Progress: progress, Rehearsal: true}); err != nil {
		return err
	}
	stage, err := setStage(ctx, flags, inv, extended, progress)
	if err != nil {
		return err
	}
	said(validated)
	life := rehearsal.Life{
		System: stage, Inventory: inv, Extended: extended, Keep: flags.keep, Patience: readyPatience, Done: said,
	}
	life.Run(ctx, report)
	if err := stage.strike(context.WithoutCancel(ctx), flags.keep, report.Expected); err != nil {
		return err
	}
	return flags.conclude(report, stage, s)
}

// sound is what validation says of the two inventories.
func sound(inv *inventory.Inventory, extended *rehearsal.Extended) string {
	return fmt.Sprintf("%d nodes; one more is %s, VM %d", len(inv.Nodes), extended.Worker.Name, extended.Worker.VMID)
}

// conclude says how the rehearsal went.
func (f rehearseFlags) conclude(report *rehearsal.Report, stage *stage, s streams) error {
	if f.output == outputJSON {
		if err := report.WriteJSON(s.out); err != nil {
			return err
		}
	} else {
		tone := terminal.Good
		if !report.Expected {
			tone = terminal.Bad
		}
		fmt.Fprintf(s.out, "\n%s\n", terminal.Paint(s.out, tone, report.Verdict()))
		stage.tellWhatIsLeft(s.out, f.keep, report.Expected)
	}
	if !report.Expected {
		return failedSilently()
	}
	return nil
}

// tellWhatIsLeft names what can be looked at.
func (s *stage) tellWhatIsLeft(out io.Writer, keep, expected bool) {
	switch place := s.flags.place(); {
	case keep:
		tellNext(out, "it runs on", typed("preview %s", place), typed("destroy %s --yes", place), typed("lab stop --stack %s", s.flags.stack))
	case !expected:
		fmt.Fprintf(out, "  log  %s\n", workspace.Nearby(s.log.Name()))
		tellNext(out, "its host comes back with", typed("lab start --stack %s --inventory %s", s.flags.stack, s.flags.inventory))
	}
}
