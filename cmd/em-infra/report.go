package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newReportCommand() *cobra.Command {
	var (
		flags stackFlags
		run   string
		out   string
	)
	command := &cobra.Command{
		Use:   "report --stack STACK",
		Short: "Write what is known about the stack as one HTML file",
		Long: `Write one HTML file with the picture of the stack, the status of its machines, what differs from the inventory, credentials and
when they end, snapshots, and a timeline of the last runs: how long each step took on which node, and what it waited for. For a stack of
hosts or of systems it has their status and the backups of the state. The file needs no network and no other file, follows the reader's
choice of light or dark, fits a phone, and contains no secret. The command changes nothing.

With --run it shows that run alone, from its artifacts, and asks neither host nor nodes.`,
		Example: "  em-infra report --stack k3s-dev\n  em-infra report --stack k3s-dev --run 2026-11-20T22-15-00-up --out up.html",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			written, err := o.Report(command.Context(), operator.ReportOptions{Run: run})
			if err != nil {
				return err
			}
			return keepReport(written, out, filepath.Join(o.Workspace().Artifacts, "report.html"), streams)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().StringVar(&run, "run", "", "the folder of one run's artifacts, such as 2026-11-20T22-15-00-up")
	command.Flags().StringVar(&out, "out", "", "the file to write, - for standard output (default: report.html beside the artifacts of the runs)")
	return command
}

// keepReport writes a report into a file, - for the standard output, or into the usual one if file is empty. Only its owner can read it,
// since it describes a network.
func keepReport(written []byte, file, usual string, streams streams) error {
	switch file {
	case "-":
		_, err := terminal.Raw(streams.out).Write(written)
		return err
	case "":
		if err := os.MkdirAll(filepath.Dir(usual), 0o700); err != nil {
			return err
		}
		file = usual
	}
	if err := os.WriteFile(file, written, 0o600); err != nil {
		return refused(fmt.Errorf("--out: %w: choose a file in a folder that is there", err))
	}
	fmt.Fprintf(streams.out, "written: %s\n", workspace.Nearby(file))
	return nil
}
