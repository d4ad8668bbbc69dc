package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newLabCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "lab",
		Short: "The emulated host that a stack is rehearsed on",
	}
	group.AddCommand(
		newLabStartCommand(),
		command.Stop(newLabPlace(), "Stop the lab of a stack; its state is kept"),
		command.Status(newLabPlace(), "Show whether the lab of a stack runs, and where"),
		newLabEnvCommand(),
		command.Fault(newLabPlace),
		command.Unlock(newLabPlace()), command.Reset(newLabPlace()), command.StopVM(newLabPlace()), command.Destroy(newLabPlace()),
		command.SetUp(newLabPlace()),
		newLabServeCommand(),
	)
	return group
}

func newLabEnvCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:     "env --stack STACK",
		Short:   "Print the shell environment to run pulumi itself on the rehearsal; its stack is created if it is missing",
		Example: `  eval "$(em-infra lab env --stack k3s-dev)" && pulumi preview --stack k3s-dev`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			w := o.Workspace()
			if err := o.EnsureStack(command.Context()); err != nil {
				return err
			}
			tools, err := toolchain.Install(command.Context(), toolchain.Options{Progress: streams.err, LanguageHost: true})
			if err != nil {
				return err
			}
			if err := tools.Populate(w.Home); err != nil {
				return err
			}
			if err := provider.Install(w.Home, components.Tool); err != nil {
				return err
			}
			return printLabEnv(terminal.Raw(streams.out), tools, &w, ownPath())
		},
	}
	flags.bindPlace(command)
	return command
}

// printLabEnv prints the environment of the rehearsal for a shell.
func printLabEnv(out io.Writer, tools *toolchain.Installed, w *workspace.Workspace, own string) error {
	// The CLI prefers this variable to the file, and a shell may have set it for another stack.
	fmt.Fprintln(out, "unset PULUMI_CONFIG_PASSPHRASE")
	if err := printToolsEnv(out, tools, w, own); err != nil {
		return err
	}
	fmt.Fprintf(out, "cd %s\n", shell.Word(w.Dir))
	return nil
}

// faultsOf returns the faults that are set in the lab of a workspace.
func faultsOf(ctx context.Context, w *workspace.Workspace) ([]fault.State, error) {
	return command.Faults(ctx, w.Lab)
}

// oneName requires one argument; its error says what it names.
func oneName(what string) cobra.PositionalArgs { return command.OneName(what) }
