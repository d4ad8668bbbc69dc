package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
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
		command.Status(newLabPlace(), "Say whether the lab of a stack runs, and where"),
		newLabEnvCommand(),
		command.Fault(newLabPlace),
		command.Unlock(newLabPlace()), command.Reset(newLabPlace()), command.Destroy(newLabPlace()),
		newLabServeCommand(),
	)
	return group
}

// runningLab is the description of a workspace's lab, for those who need it to answer.
func runningLab(w *workspace.Workspace) (lab.Description, error) {
	return command.Running(&labPlace{stackFlags{lab: true, stack: w.Stack, inventory: w.Inventory}})
}

func newLabEnvCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:     "env --stack STACK",
		Short:   "Print what a shell needs to run pulumi itself on the rehearsal, whose stack is made if it is not there",
		Example: `  eval "$(em-infra lab env --stack k3s-dev)" && pulumi preview --stack k3s-dev`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			s, err := openSession(command.Context(), flags, want{newStack: true}, streams.aside())
			if err != nil {
				return err
			}
			tools, err := toolchain.Install(command.Context(), toolchain.Options{Progress: streams.err, LanguageHost: true})
			if err != nil {
				return err
			}
			if err := tools.Populate(s.workspace.Home); err != nil {
				return err
			}
			return printLabEnv(terminal.Raw(streams.out), tools, s.workspace, ownPath())
		},
	}
	flags.bindPlace(command)
	return command
}

// printLabEnv leads a shell into the folder of the rehearsal.
func printLabEnv(out io.Writer, tools *toolchain.Installed, w *workspace.Workspace, own string) error {
	// The CLI prefers this one to the file, and a shell may know it for another stack.
	fmt.Fprintln(out, "unset PULUMI_CONFIG_PASSPHRASE")
	if err := printToolsEnv(out, tools, w, own); err != nil {
		return err
	}
	fmt.Fprintf(out, "cd %s\n", shellWord(w.Dir))
	return nil
}

// shellWord is text as one word of a command line.
func shellWord(text string) string { return shell.Word(text) }

// faultsOf are the faults that are set in the lab of a workspace.
func faultsOf(ctx context.Context, w *workspace.Workspace) ([]fault.State, error) {
	return command.Faults(ctx, w.Dir)
}

// oneName has a command that takes a name say so in its own words.
func oneName(what string) cobra.PositionalArgs { return command.OneName(what) }
