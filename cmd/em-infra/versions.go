package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

// versionsFlags are the flags of versions.
type versionsFlags struct {
	place  stackFlags
	output string
}

func newVersionsCommand() *cobra.Command {
	var flags versionsFlags
	command := &cobra.Command{
		Use:   "versions [--stack STACK]",
		Short: "Show which versions of Talos and Kubernetes are supported, what runs, and what is next; only reads",
		Long: `Show the releases of Talos that are supported, with their newest known patch release and the releases of Kubernetes that go
with them. With a stack, also show what its inventory wants, what its nodes run, what of it up would refuse, the way to the
newest known versions, and what the next minor release of Talos changes for this cluster. Nothing is changed; without a stack
nothing is asked.

Exit codes: 0 the versions are shown, 3 the inventory is refused. A cluster that does not answer is a line of the result.`,
		Example: "  em-infra versions\n  em-infra versions --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	bindOutput(command, &flags.output)
	return command
}

func (f *versionsFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	report, err := f.report(ctx, streams)
	if err != nil {
		return err
	}
	return writeResult(streams.out, f.output, report)
}

func (f *versionsFlags) report(ctx context.Context, streams streams) (*operator.VersionReport, error) {
	if f.place.stack == "" {
		return operator.SupportedVersions()
	}
	o, err := f.place.open(streams.aside())
	if err != nil {
		return nil, err
	}
	return o.Versions(ctx)
}
