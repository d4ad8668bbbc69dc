package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// adoptFlags are the flags of adopt.
type adoptFlags struct {
	place     stackFlags
	options   operator.AdoptOptions
	writes    bool
	terraform string
}

func newAdoptCommand() *cobra.Command {
	var flags adoptFlags
	command := &cobra.Command{
		Use:   "adopt --stack STACK",
		Short: "Write the state of a running cluster anew, when the state is lost",
		Long: `Write the state of a running cluster anew, when the state and all its backups are lost. The command reads from host and nodes, and
does not change them: no machine is created, changed or rebooted. The state is written in one step at the end; if the command is
interrupted or killed before that, run it again.

The machine secrets of the cluster are read from a control plane, with the talosconfig of an earlier up, or from a file. Every
machine of the inventory that exists on its host must belong to that cluster. The mark in its description proves it; without a mark,
its node has to accept the secrets and to report the firmware UUID of that machine.

At the end a preview shows what an up would do. Nothing is written if it would replace or delete a machine.

Machines that another tool created are adopted in the same way, once an inventory describes them. --write-inventory writes the
inventory of a stack that has none, from what nodes and host report, and adopts nothing yet: read the files and the notes first.`,
		Example: `  em-infra adopt --stack k3s-dev --dry-run
  em-infra adopt --stack k3s-dev
  em-infra adopt --stack k3s-dev --secrets secrets.yaml    # without a talosconfig
  em-infra adopt --stack home --talosconfig ~/.talos/config --write-inventory`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	flags.place.bindKeep(command)
	flags.place.bindVerbose(command)
	command.Flags().StringVar(&flags.options.Secrets, "secrets", "", "a file with the machine secrets, as written by 'talosctl gen secrets' (default: read from a control plane)")
	command.Flags().StringVar(&flags.options.Talosconfig, "talosconfig", "", "the talosconfig for the control planes (default: that of an earlier up)")
	command.Flags().BoolVar(&flags.options.DryRun, "dry-run", false, "do everything except writing the state")
	command.Flags().BoolVar(&flags.writes, "write-inventory", false, "write cluster.yaml and nodes.yaml of a cluster that another tool created, and adopt nothing yet")
	command.Flags().StringVar(&flags.terraform, "terraform-state", "", "with --write-inventory: the terraform.tfstate with which the machines were created, as a further source")
	return command
}

var errHintWithoutInventory = errors.New("--terraform-state is only read with --write-inventory: add that, or leave it out")

var errAdoptsNothing = errors.New("--write-inventory only writes cluster.yaml and nodes.yaml, and adopts nothing: leave --dry-run and --secrets out, and give them to the adoption itself")

func (f *adoptFlags) run(ctx context.Context, streams streams) error {
	if f.terraform != "" && !f.writes {
		return refused(errHintWithoutInventory)
	}
	if f.writes && (f.options.DryRun || f.options.Secrets != "") {
		return refused(errAdoptsNothing)
	}
	o, err := f.place.open(streams)
	if err != nil {
		return err
	}
	if f.writes {
		return f.describe(ctx, streams, o)
	}
	adopted, err := o.Adopt(ctx, f.options)
	if adopted != nil && adopted.Preview != nil {
		f.write(streams, adopted)
	}
	if err != nil {
		return err
	}
	switch {
	case !adopted.Written:
		fmt.Fprintf(streams.out, "\nthe state would have %d resources; nothing was written\nnext: %s\n", adopted.Resources, typed("adopt %s", o.Place()))
	case adopted.Preview.HasChanges():
		fmt.Fprintf(streams.out, "\nthe state is written, with %d resources\nnext: %s   # what is shown above\n", adopted.Resources, typed("up %s", o.Place()))
	default:
		fmt.Fprintf(streams.out, "\nthe state is written, with %d resources, and matches what runs\nkubeconfig: %s\n", adopted.Resources, workspace.Nearby(adopted.Kubeconfig))
	}
	return nil
}

// describe writes the inventory of a cluster that runs.
func (f *adoptFlags) describe(ctx context.Context, streams streams, o *operator.Operator) error {
	described, err := o.Describe(ctx, operator.DescribeOptions{Talosconfig: f.options.Talosconfig, TerraformState: f.terraform})
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.out, "%d nodes: %s\n", len(described.Nodes), strings.Join(described.Nodes, ", "))
	for _, file := range described.Files {
		fmt.Fprintf(streams.out, " written    %s\n", workspace.Nearby(file))
	}
	for _, note := range described.Notes {
		fmt.Fprintf(streams.out, " note       %s\n", note)
	}
	next := "adopt " + o.Place()
	if f.options.Talosconfig != "" {
		next += " --talosconfig " + shell.Word(f.options.Talosconfig)
	}
	fmt.Fprintf(streams.out, "next: %s   # when the files are right\n", typed("%s", next+" --dry-run"))
	return nil
}

// write writes what does not exist, and what an up would do.
func (f *adoptFlags) write(streams streams, adopted *operator.Adopted) {
	if len(adopted.Absent) > 0 {
		fmt.Fprintf(streams.out, "does not exist, so up creates it: %s\n", strings.Join(adopted.Absent, ", "))
	}
	fmt.Fprintln(streams.out, "what up would do with this state:")
	_ = adopted.Preview.WriteText(streams.out) // a closed stream ends no run
	adopted.Preview.Host.At(here()).WriteText(streams.out)
	adopted.Preview.Images.Besides(adopted.Preview.Assessment).WriteText(streams.out)
}
