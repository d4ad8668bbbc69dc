package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/explain"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
)

func newExplainCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "explain [TEXT]",
		Short: "Say what an error means and what mends it",
		Long: `Say what an error of Proxmox VE, the providers, Talos, Kubernetes or the engine means, what mends it, and whether to go on
is safe. The error is given as an argument, or pasted into the standard input. A run that fails explains itself.

Of an error that is not known it says which known one is nearest, as a guess, and where to look. The list of --output json has
only what is known; the guess is written to the standard error then.

Exit codes: 0 the error is known, 1 it is not.`,
		Example: `  em-infra explain "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"
  em-infra up --stack k3s-dev 2>&1 | em-infra explain
  em-infra explain < error.txt`,
		RunE: func(command *cobra.Command, args []string) error {
			return runExplain(streamsOf(command), strings.Join(args, " "), output)
		},
	}
	bindOutput(command, &output)
	return command
}

func runExplain(streams streams, text, output string) error {
	if err := checkOutput(output); err != nil {
		return err
	}
	if text == "" {
		if isTerminal(streams.in) {
			fmt.Fprintln(streams.err, "paste the error, then press Ctrl-D")
		}
		pasted, err := io.ReadAll(streams.in)
		if err != nil {
			return fmt.Errorf("read the error: %w", err)
		}
		text = string(pasted)
	}
	if strings.TrimSpace(text) == "" {
		return refused(errors.New("there is no error to explain: give it as an argument, or paste it"))
	}
	found := explain.Text(text)
	for i := range found {
		found[i] = found[i].At(remedy.Place{Tool: calledHere()})
	}
	if output == outputJSON {
		return explainJSON(streams, found, text)
	}
	if len(found) == 0 {
		printGuess(streams.out, text)
		return errUnknown
	}
	for _, explanation := range found {
		printExplanation(streams.out, explanation)
	}
	return nil
}

// errUnknown is the error for a text that no known error matches, whatever the guess.
var errUnknown = errors.New("nothing is known about that for certain")

// printGuess is what can be said of a text that is not known: the error that is nearest, as a guess, and where to look.
func printGuess(out io.Writer, text string) {
	if nearest, isNear := explain.FindNearest(text); isNear {
		fmt.Fprintf(out, "not known; a guess, which may be wrong: the nearest error that is known is\n")
		fmt.Fprintf(out, "  %s, of %s: %d of its %d words are in the text\n", nearest.Name, nearest.Speaker, len(nearest.Shared), nearest.Of)
		const width = 14
		for _, line := range [][2]string{
			{"text", nearest.Said},
			{"in common", strings.Join(nearest.Shared, ", ")},
			{"it would mean", nearest.Meaning},
			{"then do", asTyped(nearest.Do)},
			{"safe", asTyped(nearest.Safe)},
		} {
			fmt.Fprintf(out, "  %-*s %s\n", width, line[0], line[1])
		}
	} else {
		fmt.Fprintf(out, "not known, and no error that is known is near\n")
	}
	fmt.Fprintf(out, "\nwhere to look\n")
	for _, place := range explain.Places(text) {
		fmt.Fprintf(out, "  %s: %s\n", asTyped(place.Where), place.For)
	}
}

// printExplanation is an explanation for a person.
func printExplanation(out io.Writer, e explain.Explanation) {
	if e.Subject != "" {
		fmt.Fprintf(out, "%s\n", e.Subject)
	}
	const width = 14
	fmt.Fprintf(out, "  %-*s %s\n", width, e.Speaker+" said", e.Said)
	fmt.Fprintf(out, "  %-*s %s\n", width, "meaning", e.Meaning)
	fmt.Fprintf(out, "  %s %s\n", terminal.Paint(out, terminal.Strong, terminal.Pad("do", width)), e.Do)
	fmt.Fprintf(out, "  %-*s %s\n", width, "safe", e.Safe)
}

// explainJSON writes what is known. A guess is none of it: it goes to people, beside the list, so that no script takes it for more.
func explainJSON(streams streams, found []explain.Explanation, text string) error {
	if err := writeJSON(streams.out, append([]explain.Explanation{}, found...)); err != nil {
		return err
	}
	if len(found) == 0 {
		printGuess(streams.err, text)
		return errUnknown
	}
	return nil
}
