package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newToolsEnvCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "env --stack STACK",
		Short: "Print the shell environment to run pulumi itself on a stack: PATH, plugins, state",
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
			if err := provider.Install(w.Home, components.Tool); err != nil {
				return err
			}
			if err := takeLanguageHost(command.Context(), w, command.ErrOrStderr()); err != nil {
				return err
			}
			return printToolsEnv(terminal.Raw(command.OutOrStdout()), tools, w, ownPath())
		},
	}
	flags.bindPlace(command)
	return command
}

// takeLanguageHost copies the language host of an ordinary Pulumi installation to where the engine looks for it, or prints what
// does not work without it. The stand-in is for rehearsals only.
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

// printToolsEnv prints the environment of a workspace for a shell: pulumi and em-infra on its PATH, the default stack of
// commands, and the em-infra that the program's Commands call, which `go run` would compile for them. own is the path of this
// executable, empty if `go run` will remove it. The passphrase is not printed.
func printToolsEnv(out io.Writer, tools *toolchain.Installed, w *workspace.Workspace, own string) error {
	pulumi, found := tools.CLI()
	if !found {
		return operator.ErrNoCLI
	}
	folders := []string{filepath.Dir(pulumi.Path)}
	environment := w.Environment()
	maps.Copy(environment, tools.Environment(w.Home))
	if own != "" {
		environment[operator.ToolVariable] = own
		if !isOnPath("", own) {
			folders = append(folders, filepath.Dir(own))
		}
	}
	fmt.Fprintf(out, "export PATH=%s:\"$PATH\"\n", shell.Word(strings.Join(folders, string(filepath.ListSeparator))))
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		fmt.Fprintf(out, "export %s=%s\n", name, shell.Word(environment[name]))
	}
	return nil
}

// pulumiHint returns how to get pulumi on PATH if a message names it and it is missing; else "".
func pulumiHint(message string, executed *cobra.Command) string {
	named := slices.ContainsFunc(remedy.Commands(message), func(command string) bool { return strings.HasPrefix(command, "pulumi ") })
	if !named {
		return ""
	}
	if _, err := exec.LookPath("pulumi"); err == nil {
		return ""
	}
	stack, env := "STACK", "tools env"
	if flag := executed.Flag("stack"); flag != nil && flag.Value.String() != "" {
		stack = flag.Value.String()
	}
	if flag := executed.Flag("lab"); flag != nil && flag.Value.String() == "true" {
		env = "lab env"
	}
	return fmt.Sprintf("pulumi is not on PATH here: `eval \"$(%s)\"` puts it there", typed("%s --stack %s", env, stack))
}
