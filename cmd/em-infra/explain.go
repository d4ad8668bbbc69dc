package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/explain"
)

func newExplainCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "explain [TEXT]",
		Short: "Say what an error means and what mends it",
		Long: `Say what an error of Proxmox VE, the providers, Talos, Kubernetes or the engine means, what mends it, and whether to go on
is safe. The error is given as an argument, or pasted into the standard input. A run that fails explains itself.

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
	if output == outputJSON {
		return explainJSON(streams.out, found)
	}
	if len(found) == 0 {
		return errors.New("nothing is known about that: look for its words in docs/failures.md, and in the task log of Proxmox VE")
	}
	for _, explanation := range found {
		explainText(streams.out, explanation)
	}
	return nil
}

// explainText is an explanation for a person.
func explainText(out io.Writer, e explain.Explanation) {
	if e.Subject != "" {
		fmt.Fprintf(out, "%s\n", e.Subject)
	}
	const width = 14
	fmt.Fprintf(out, "  %-*s %s\n", width, e.Speaker+" said", e.Said)
	fmt.Fprintf(out, "  %-*s %s\n", width, "meaning", e.Meaning)
	fmt.Fprintf(out, "  %-*s %s\n", width, "do", asTyped(e.Do))
	fmt.Fprintf(out, "  %-*s %s\n", width, "safe", asTyped(e.Safe))
}

func explainJSON(out io.Writer, found []explain.Explanation) error {
	explanations := append([]explain.Explanation{}, found...)
	for i := range explanations {
		explanations[i].Do, explanations[i].Safe = asTyped(explanations[i].Do), asTyped(explanations[i].Safe)
	}
	if err := writeJSON(out, explanations); err != nil {
		return err
	}
	if len(found) == 0 {
		return failedSilently()
	}
	return nil
}
