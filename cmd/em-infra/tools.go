package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
)

func newToolsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "tools",
		Short: "The Pulumi CLI and the provider plugins that every run uses",
	}
	command.AddCommand(newToolsInstallCommand(), newToolsListCommand(), newToolsEnvCommand())
	return command
}

// toolsFlags are the flags of `tools install` and `tools list`.
type toolsFlags struct {
	output     string
	official   bool
	lab        bool
	kubernetes string
}

func newToolsInstallCommand() *cobra.Command {
	var flags toolsFlags
	command := &cobra.Command{
		Use:   "install",
		Short: "Get the tools: official ones if available, else built from Go modules",
		Long: `Get the tools at the versions that the program's SDKs ask for. The pulumi on PATH is used when it is recent enough,
and the official plugins are installed when their servers answer. What cannot be had is built from Go modules, which
takes ten to twenty minutes on two cores the first time, and kept in $EM_INFRA_CACHE (default: em-infra in the user's cache
folder). Every other command does this by itself; this one is for doing it beforehand. A rehearsal needs the Kubernetes
control plane besides, which takes five to ten minutes more. That of another minor release is built
only with --kubernetes: once it is there, labs that are started run it for the clusters whose inventory says that release.`,
		Example: `  em-infra tools install
  em-infra tools install --lab         # what a rehearsal needs, too
  em-infra tools install --lab --kubernetes 1.36
  em-infra tools install --official    # there was no internet the first time`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(flags.output); err != nil {
				return err
			}
			tools, err := flags.install(command.Context(), command.ErrOrStderr())
			if err != nil {
				return err
			}
			return flags.print(command.OutOrStdout(), tools)
		},
	}
	bindOutput(command, &flags.output)
	command.Flags().BoolVar(&flags.official, "official", false, "try again to download official plugins that were replaced by built ones")
	command.Flags().BoolVar(&flags.lab, "lab", false, "also get the tools of a rehearsal")
	command.Flags().StringVar(&flags.kubernetes, "kubernetes", "", "also build the control plane of this minor `release` of Kubernetes for labs, 1.36")
	return command
}

// install installs the tools of the flags.
func (f *toolsFlags) install(ctx context.Context, progress io.Writer) ([]toolchain.Tool, error) {
	options := []toolchain.Options{{Retry: f.official, Rehearsal: f.lab, LanguageHost: f.lab}}
	if f.kubernetes != "" {
		name, err := toolchain.ControlPlane(f.kubernetes)
		if err != nil {
			return nil, refused(fmt.Errorf("--kubernetes: %w", err))
		}
		options = append(options, toolchain.Options{Names: []string{name}})
	}
	var tools []toolchain.Tool
	for _, o := range options {
		o.Progress = progress
		installed, err := toolchain.Install(ctx, o)
		if err != nil {
			return nil, err
		}
		tools = append(tools, installed.Tools...)
	}
	return tools, nil
}

func newToolsListCommand() *cobra.Command {
	var flags toolsFlags
	command := &cobra.Command{
		Use:   "list",
		Short: "Show each tool: version, origin, path",
		Long: `Show each tool: its version, where it is from, and its path. Below them are the programs that people use beside em-infra, which needs
none of them: kubectl, talosctl, sops and age, with the versions that fit, and which of them are not on PATH.`,
		Example: "  em-infra tools list\n  em-infra tools list --output json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(flags.output); err != nil {
				return err
			}
			tools, err := toolchain.List(command.Context(), toolchain.Options{Rehearsal: true, LanguageHost: true})
			if err != nil {
				return err
			}
			others, err := toolchain.List(command.Context(), toolchain.Options{Names: toolchain.OnRequest()})
			if err != nil {
				return err
			}
			return flags.print(command.OutOrStdout(), slices.Concat(tools, others, toolchain.Clients()))
		},
	}
	bindOutput(command, &flags.output)
	return command
}

func (f *toolsFlags) print(out io.Writer, tools []toolchain.Tool) error {
	if f.output == outputJSON {
		return writeJSON(out, tools)
	}
	return printTools(out, tools)
}

// printTools writes a table, and under it why tools are not the official ones.
func printTools(out io.Writer, tools []toolchain.Tool) error {
	table := terminal.Table{Header: []string{"NAME", "VERSION", "ORIGIN", "PATH"}}
	missing := false
	var lacking []string // of the clients
	for _, tool := range tools {
		path := tool.Path
		switch {
		case tool.Installed:
		case tool.Kind == toolchain.Client:
			path = "not on PATH"
			lacking = append(lacking, tool.Name)
		default:
			path = "not installed"
			missing = missing || !slices.Contains(toolchain.OnRequest(), tool.Name)
		}
		table.Rows = append(table.Rows, []string{tool.Name, tool.Version, originText(tool), path})
	}
	if err := table.Write(out); err != nil {
		return err
	}
	for _, tool := range tools {
		if tool.Reason != "" {
			fmt.Fprintf(out, "%s is not the official one: %s\n", tool.Name, tool.Reason)
		}
	}
	if len(lacking) > 0 {
		fmt.Fprintf(out, "not on PATH: %s; `mise install` in a clone installs those in mise.toml (https://mise.jdx.dev)\n", strings.Join(lacking, ", "))
	}
	if missing {
		_, err := fmt.Fprintln(out, "next: em-infra tools install")
		return err
	}
	return nil
}

func originText(tool toolchain.Tool) string {
	if tool.Kind == toolchain.Client {
		return "yours"
	}
	if tool.From != "" {
		return "built from " + tool.From
	}
	return string(tool.Origin)
}
