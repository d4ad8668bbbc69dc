package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
)

func newExplainCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "explain [TEXT]",
		Short: "Explain what an error means and how to fix it",
		Long: `Explain what an error of Proxmox VE, the providers, Talos, Kubernetes or the engine means, how to fix it, and whether to go on
is safe. The error is given as an argument, or pasted into the standard input. A run that fails explains itself.

For an unknown error it prints the most similar known one, as a guess, and where to look. With --output json only known errors are in
the list, and the guess is written to the standard error.

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
	found := operator.Explain(text)
	for i := range found {
		found[i] = found[i].At(here())
	}
	if output == outputJSON {
		return explainJSON(streams, found, text)
	}
	if len(found) == 0 {
		operator.GuessAt(text).At(here()).WriteText(streams.out)
		return errUnknown
	}
	for _, explanation := range found {
		explanation.WriteText(streams.out)
	}
	return nil
}

// here returns how the user calls this program.
func here() remedy.Place { return remedy.Place{Tool: calledHere()} }

// errUnknown is the error for a text that no known error matches, even if there is a guess.
var errUnknown = errors.New("nothing is known about that for certain")

// explainJSON writes the known explanations. A guess is printed as text beside the list, so that no script takes it for a known
// one.
func explainJSON(streams streams, found []operator.Explanation, text string) error {
	if err := writeJSON(streams.out, append([]operator.Explanation{}, found...)); err != nil {
		return err
	}
	if len(found) == 0 {
		operator.GuessAt(text).At(here()).WriteText(streams.err)
		return errUnknown
	}
	return nil
}
