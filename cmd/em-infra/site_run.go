package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// siteRun is one command on each stack of the project.
type siteRun struct {
	verb  string
	good  string // the result of a stack on which it ended well
	stops bool   // at the first stack on which it did not
	down  bool   // from the highest layer to the lowest
	// sharesLabs is whether rehearsals share labs from now on.
	sharesLabs bool
	one        func(context.Context, streams, stackFlags) error
}

// notBegun is the result of the stacks after the one that a run has stopped at.
const notBegun = "not begun"

func (r siteRun) run(command *cobra.Command, place stackFlags) error {
	site, err := operator.StacksByLayer("")
	if err != nil {
		return err
	}
	if r.down {
		slices.Reverse(site)
	}
	s, results := streamsOf(command), terminal.Table{Header: []string{"STACK", "KIND", "RESULT"}}
	if err := r.findLabs(command.Context(), s, place); err != nil {
		return err
	}
	var ended []error
	stopped := ""
	for i, stack := range site {
		result := notBegun
		if stopped == "" {
			fmt.Fprintf(s.out, "%s\n", terminal.Paint(s.out, terminal.Strong, fmt.Sprintf("%s (%s), %d of %d", stack.Stack, stack.Kind, i+1, len(site))))
			err := r.onStack(command.Context(), s, place, stack.Stack)
			ended, result = append(ended, err), r.resultOf(err)
			if err != nil && r.stops {
				stopped = stack.Stack
			} else {
				printError(command.Context(), s, command, err)
			}
			fmt.Fprintln(s.out)
		}
		results.Rows = append(results.Rows, []string{stack.Stack, string(stack.Kind), result})
	}
	if err := results.Write(s.out); err != nil {
		return err
	}
	if stopped != "" {
		fmt.Fprintf(s.out, "stopped at %s: do what its message says, then run `%s` again, which goes on from there\n", stopped, typed("site %s", r.verb))
		return ended[len(ended)-1]
	}
	return worst(ended)
}

// findLabs has rehearsals share labs, or refuses if there is none to work on.
func (r siteRun) findLabs(ctx context.Context, s streams, place stackFlags) error {
	switch {
	case !place.lab:
		return nil
	case r.sharesLabs:
		return operator.ShareLabs(ctx, "", localLab(lab.Choices{}, s.out))
	default:
		return operator.CheckRehearsed("", localLab(lab.Choices{}, s.out))
	}
}

// onStack works on one stack.
func (r siteRun) onStack(ctx context.Context, s streams, place stackFlags, stack string) error {
	return onStackOfSite(place, stack, func(place stackFlags) error { return r.one(ctx, s, place) })
}

// onStackOfSite works on one stack. What its secrets set in the environment, such as the passphrase, is none of the next stack's.
func onStackOfSite(place stackFlags, stack string, work func(stackFlags) error) error {
	before := os.Environ()
	defer restoreEnvironment(before)
	place.stack, place.refresh = stack, true
	return work(place)
}

func restoreEnvironment(before []string) {
	os.Clearenv()
	for _, entry := range before {
		name, value, _ := strings.Cut(entry, "=")
		_ = os.Setenv(name, value) // it was set like this before
	}
}

func (r siteRun) resultOf(err error) string {
	switch {
	case err == nil:
		return r.good
	case errors.Is(err, operator.ErrChanges):
		return "changes"
	case errors.Is(err, operator.ErrNotWell):
		return "not sound"
	case exitCode(err) == exitRefused:
		return "refused"
	default:
		return "failed"
	}
}

// worst returns an error with the exit code of the whole and nothing left to print: a failure counts more than a refusal, and that more than
// changes.
func worst(ended []error) error {
	codes := map[int]bool{}
	for _, err := range ended {
		codes[exitCode(err)] = true
	}
	switch {
	case codes[exitFailed]:
		return operator.ErrNotWell
	case codes[exitRefused]:
		return errUnsound
	case codes[exitChanges]:
		return operator.ErrChanges
	default:
		return nil
	}
}
