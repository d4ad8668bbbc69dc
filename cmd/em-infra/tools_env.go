package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newToolsEnvCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "env --stack STACK",
		Short: "Print what a shell needs to run pulumi itself on a stack: its PATH, its plugins, its state",
		Example: `  eval "$(em-infra tools env --stack k3s-dev)"
  pulumi config set --stack k3s-dev em-infra:proxmoxEndpoint https://vmhost:8006`,
		RunE: func(command *cobra.Command, _ []string) error {
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			tools, err := toolchain.Install(command.Context(), toolchain.Options{Progress: command.ErrOrStderr()})
			if err != nil {
				return err
			}
			if err := w.Prepare(); err != nil {
				return err
			}
			if err := tools.Populate(w.Home); err != nil {
				return err
			}
			if err := takeLanguageHost(command.Context(), w, command.ErrOrStderr()); err != nil {
				return err
			}
			return printToolsEnv(terminal.Raw(command.OutOrStdout()), tools, w)
		},
	}
	flags.bindPlace(command)
	return command
}

// takeLanguageHost puts the language host of an ordinary Pulumi installation where the engine looks for it, or says what fails
// without. The stand-in is for rehearsals.
func takeLanguageHost(ctx context.Context, w *workspace.Workspace, out io.Writer) error {
	hosts, err := toolchain.List(ctx, toolchain.Options{Names: []string{"language-go"}})
	if err != nil {
		return err
	}
	if hosts[0].Origin == toolchain.Official {
		return (&toolchain.Installed{Tools: hosts}).Populate(w.Home)
	}
	fmt.Fprintln(out, "there is no pulumi-language-go on PATH, so a plain `pulumi up`, `preview` or `destroy` cannot run the program: "+
		"install Pulumi (https://www.pulumi.com/docs/install), or use em-infra, which needs none")
	return nil
}

// printToolsEnv leaves the passphrase to whoever knows it.
func printToolsEnv(out io.Writer, tools *toolchain.Installed, w *workspace.Workspace) error {
	pulumi, found := tools.CLI()
	if !found {
		return errNoCLI
	}
	fmt.Fprintf(out, "export PATH=%s:\"$PATH\"\n", shellWord(filepath.Dir(pulumi.Path)))
	environment := w.Environment()
	maps.Copy(environment, tools.Environment(w.Home))
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		fmt.Fprintf(out, "export %s=%s\n", name, shellWord(environment[name]))
	}
	return nil
}
