package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newGraphCommand() *cobra.Command {
	var (
		flags stackFlags
		out   string
	)
	command := &cobra.Command{
		Use:   "graph --stack STACK",
		Short: "Draw the stack: hosts, and what it places on them",
		Long: `Draw the stack as its inventory describes it, as an SVG that follows the reader's choice of light or dark. The picture of a cluster shows
hosts, machines, roles, addresses, GPUs and what the cluster has on a NAS; that of systems shows hosts, virtual machines and containers;
that of hosts shows their networks, storages and mapped devices. If a cluster was brought up from this machine, the picture also shows
which nodes answer. "em-infra site graph" draws all stacks in one picture.`,
		Example: "  em-infra graph --stack k3s-dev --out k3s-dev.svg\n  em-infra graph --stack k3s-dev --lab > rehearsal.svg",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			drawn, err := o.Graph(command.Context())
			if err != nil {
				return err
			}
			return deliver(drawn, out, streams.out)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindPictureFile(command, &out)
	return command
}

func bindPictureFile(command *cobra.Command, out *string) {
	command.Flags().StringVar(out, "out", "", "the file to write (default: standard output)")
}

// deliver writes a picture into a file, or to the standard output if file is empty.
func deliver(drawn []byte, file string, out io.Writer) error {
	if file == "" {
		_, err := terminal.Raw(out).Write(drawn)
		return err
	}
	if err := os.WriteFile(file, drawn, 0o644); err != nil { //nolint:gosec // a picture is meant to be shown
		return refused(fmt.Errorf("--out: %w: choose a file in a folder that is there", err))
	}
	fmt.Fprintf(out, "drawn: %s\n", workspace.Nearby(file))
	return nil
}
