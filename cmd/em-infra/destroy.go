package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newDestroyCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:     "destroy --stack STACK",
		Short:   "Delete everything that up created; the inventory and the state's history stay",
		Example: "  em-infra destroy --stack k3s-dev --lab --yes",
		RunE: func(command *cobra.Command, _ []string) error {
			return destroyStack(command.Context(), streamsOf(command), flags)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	flags.bindWait(command)
	flags.bindVerbose(command)
	flags.bindRefresh(command)
	return command
}

func destroyStack(ctx context.Context, streams streams, flags stackFlags) error {
	o, err := flags.open(streams)
	if err != nil {
		return err
	}
	result, err := o.Destroy(ctx, operator.DestroyOptions{SkipRefresh: !flags.refresh})
	if err != nil {
		return err
	}
	printGone(streams.out, flags.stack, result)
	return nil
}

// printGone prints the end of a destroy.
func printGone(out io.Writer, stack string, result *operator.DestroyResult) {
	fmt.Fprintf(out, "\n%s is gone.", stack)
	if result.ISOs > 0 {
		fmt.Fprint(out, " The ISO of Talos stays on the host: a machine that names it in its drive would not start without it.")
	}
	fmt.Fprintln(out)
}
