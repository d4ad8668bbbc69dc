package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// printer prints the events of an operation as text.
type printer struct {
	streams

	// verbose prints the engine's own output.
	verbose bool
}

// Handle implements [operator.Events].
func (p printer) Handle(event operator.Event) {
	switch e := event.(type) {
	case operator.Progress, operator.Note, operator.Waiting, operator.EngineOutput:
		p.progress(event)
	case operator.LabStarted:
		printLab(p.out, e.Lab, e.Nodes)
	case operator.HostChecked:
		if e.Checks.Count(operator.CheckFailure) == 0 {
			p.line("preflight", e.Checks.Summary(), e.Took)
		}
		e.Checks.Unsound().At(here()).WriteText(p.out)
	case operator.Recovered:
		fmt.Fprintf(p.out, " recover    %s\n", e.What)
	case operator.OtherPlugins:
		fmt.Fprintln(p.out, "the state was written with other builds of the plugins:")
		for _, plugin := range e.Plugins {
			fmt.Fprintf(p.out, "  %s\n", plugin)
		}
	case operator.Assessed:
		_ = e.Assessment.WriteText(p.out) // a closed stream ends no run
	case operator.ArtifactsKept:
		fmt.Fprintf(p.out, " artifacts  %s%c\n", workspace.Nearby(e.Dir), os.PathSeparator)
	case operator.CredentialsKept:
		fmt.Fprintln(p.out)
		printNext(p.out, "the cluster stands nevertheless", "kubectl --kubeconfig "+shell.Word(workspace.Nearby(e.Kubeconfig))+" get nodes")
	case operator.Verified:
		p.line("verify", fmt.Sprintf("%d nodes asked", len(e.Report.Machines)), e.Took)
		fmt.Fprintln(p.out)
		_ = e.Report.WriteText(p.out)
	case operator.Rebooting:
		fmt.Fprintln(p.out, e.Text)
	case operator.LeftOnHost:
		fmt.Fprintf(p.out, " left       %s\n            → %s\n", e.What, asTyped(e.Do))
	case operator.TasksFound:
		printTasks(p.out, e.Tasks)
	case operator.Rehearsed:
		e.Step.WriteText(p.out)
	default:
		p.state(event)
	}
}

// progress prints the lines of a run.
func (p printer) progress(event operator.Event) {
	switch e := event.(type) {
	case operator.EngineOutput:
		switch {
		case p.verbose && e.Err:
			_, _ = terminal.Raw(p.err).Write(e.Text)
		case p.verbose:
			_, _ = terminal.Raw(p.out).Write(e.Text)
		}
	case operator.Progress:
		switch {
		case e.Engine && p.verbose:
		case e.Failed:
			p.line(e.Part, e.What+" "+terminal.Paint(p.out, terminal.Bad, "FAILED"), e.Took)
		default:
			p.line(e.Part, e.What, e.Took)
		}
	case operator.Note:
		if !p.verbose {
			fmt.Fprintf(p.out, " %-*s %s\n", partColumn, "note", e.Text)
		}
	case operator.Waiting:
		if !p.verbose {
			p.wait(e.Wait)
		}
	}
}

// partColumn is the width of the column with the part of a run.
const partColumn = 10

// line prints what was done in a part of a run, or is in progress, and how long it took.
func (p printer) line(part, what string, took time.Duration) {
	terminal.WriteTimed(p.out, partColumn, part, what, took)
}

// wait prints what the operation of the line before waits for, and the command that ends the wait.
func (p printer) wait(wait operator.Wait) {
	for line := range strings.Lines(wait.For) {
		fmt.Fprintf(p.out, " %-*s   %s\n", partColumn, "", strings.TrimRight(line, "\n"))
	}
	if wait.Command != "" {
		fmt.Fprintf(p.out, " %-*s   %s\n", partColumn, "", typed("%s", wait.Command))
	}
}

// state prints changes of a state and its copies.
func (p printer) state(event operator.Event) {
	switch e := event.(type) {
	case operator.BackedUp:
		where := workspace.Nearby(e.Backup.Path)
		if e.Bucket != "" {
			where += " and " + e.Bucket
		}
		fmt.Fprintf(p.out, " backup     %s\n", where)
	case operator.StateDamaged:
		fmt.Fprintf(p.out, " damaged    the present state cannot be read: %s\n", e.Reason)
	case operator.Restoring:
		fmt.Fprintf(p.out, " restore    %s\n", workspace.Nearby(e.Backup.Path))
		for _, name := range e.Difference.Forgotten {
			fmt.Fprintf(p.out, " FORGET     %s was made after the backup: it stays where it is and is unknown from then on\n", name)
		}
		for _, name := range e.Difference.Remembered {
			fmt.Fprintf(p.out, " remember   %s is in the backup alone\n", name)
		}
	case operator.StateMoved:
		fmt.Fprintf(p.out, " moved      %s → %s\n", e.Stack, e.To)
	}
}
