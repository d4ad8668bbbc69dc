package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newKitCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "kit",
		Short: "The recovery kit: everything to rebuild a cluster, in one encrypted file",
		Long: `The recovery kit is one file with everything that is needed to manage and rebuild a cluster: its machine secrets, a snapshot of
etcd, the inventory, the configuration of the stack, the state, and instructions for a person who does not know the project. It is
encrypted for backups.recipients in cluster.yaml, or else with the passphrase of the stack. The instructions lie beside it in clear,
too. Keep copies of both on other machines, and the key apart from them.`,
	}
	command.AddCommand(newKitCreateCommand(), newKitListCommand(), newKitCheckCommand(), newKitOpenCommand(), newKitRestoreCommand())
	return command
}

// bindKit adds the flag that names a kit.
func bindKit(command *cobra.Command, file *string) {
	command.Flags().StringVar(file, "kit", "", "the file of the recovery kit (default: the newest one of the stack on this machine)")
}

func newKitCreateCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "create --stack STACK",
		Short: "Make a recovery kit, with a new snapshot of etcd",
		Long: `Make a recovery kit, with a new snapshot of etcd. Nothing changes in the cluster. If etcd does not answer, the kit gets the newest
existing snapshot. The newest three kits are kept.`,
		Example: "  em-infra kit create --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			kit, err := o.CreateKit(command.Context(), operator.KitOptions{Tool: ownVersion()})
			if err != nil {
				return err
			}
			opener := "the passphrase of the stack"
			if len(kit.SealedFor) > 0 {
				opener = "the private key of " + strings.Join(kit.SealedFor, " or ")
			}
			fmt.Fprintf(streams.out, "%s: %s\n%s: how it is opened and put back, without a secret\n", workspace.Nearby(kit.Path), kibibytes(kit.Bytes), workspace.Nearby(kit.Page))
			fmt.Fprintf(streams.out, "opened by %s; copy both files to another machine, and keep what opens the kit apart from it\n", opener)
			fmt.Fprintf(streams.out, "next: %s   # can it be opened, and does it fit?\n", typed("kit check %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}

func newKitListCommand() *cobra.Command {
	return newListCommand(copies[operator.Kit]{
		parent: "kit", what: "recovery kits on this machine",
		of: onThisMachine((*operator.Operator).Kits),
		none: func(o *operator.Operator) string {
			place := o.Workspace()
			return nothingKept(o, "recovery kits", workspace.Nearby(place.Kits()), "`"+typed("kit create %s", o.Place())+"` makes one")
		},
		table: kitTable,
	})
}

func kitTable(kits []operator.Kit) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "TALOS", "KUBERNETES", "ETCD (UTC)", "SIZE"}}
	for _, k := range kits {
		snapshot := "none"
		if k.Snapshot != "" {
			snapshot = k.SnapshotTaken.Format("2006-01-02 15:04")
		}
		table.Rows = append(table.Rows, []string{k.Name, k.Talos, k.Kubernetes, snapshot, kibibytes(k.Bytes)})
	}
	return table
}

func newKitCheckCommand() *cobra.Command {
	var (
		flags stackFlags
		file  string
	)
	command := &cobra.Command{
		Use:   "check --stack STACK",
		Short: "Open a recovery kit and compare it with the cluster",
		Long: `Open a recovery kit and compare it with the cluster. The command reads each part, and every key of the snapshot of etcd, compares
the machine secrets with those in the state, and opens the Talos API of each control plane with the kit's talosconfig. It changes
nothing. The kit is opened with the passphrase of the stack, or with an age key from SOPS_AGE_KEY_FILE, SOPS_AGE_KEY or
sops/age/keys.txt in the user's configuration folder. Exit code 1: a rebuild with this kit would fail.`,
		Example: "  em-infra kit check --stack k3s-dev\n  em-infra kit check --stack k3s-dev --kit /media/stick/k3s-dev.tar.age",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			checks, err := o.CheckKit(command.Context(), file)
			if err != nil {
				return err
			}
			checks.At(here()).WriteText(streams.out)
			if checks.Count(operator.CheckFailure) > 0 {
				return errKitUnfit
			}
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindKit(command, &file)
	return command
}

var errKitUnfit = errors.New("the cluster cannot be rebuilt from this recovery kit")

func newKitOpenCommand() *cobra.Command {
	var (
		flags    stackFlags
		file, to string
	)
	command := &cobra.Command{
		Use:   "open --stack STACK --to FOLDER",
		Short: "Unpack a recovery kit into a new folder, unencrypted",
		Long: `Unpack a recovery kit into a new folder, unencrypted, for inspection or for work with talosctl. README.md in the folder describes
each file. Everything in it is secret: delete the folder when it is not needed any more.`,
		Example: "  em-infra kit open --stack k3s-dev --to /dev/shm/kit",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if to == "" {
				return refused(errors.New("no folder is given: add --to FOLDER, which must not exist yet"))
			}
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			written, err := o.OpenKit(file, to)
			for _, path := range written {
				fmt.Fprintln(streams.out, workspace.Nearby(path))
			}
			return err
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindKit(command, &file)
	command.Flags().StringVar(&to, "to", "", "the folder for its files, which is created")
	return command
}

func newKitRestoreCommand() *cobra.Command {
	var (
		flags    stackFlags
		options  operator.KitRestoreOptions
		existing string
	)
	command := &cobra.Command{
		Use:   "restore --stack STACK",
		Short: "Restore the files and the state of a recovery kit, on a new computer",
		Long: `Restore the files and the state of a recovery kit after the computer of the operator was lost, in a new clone of the repository.
Inventory, configuration of the stack, snapshot of etcd and state are written where they belong. A state that already exists, for
instance in a bucket, is not changed. Nothing on the host or in the cluster is changed.

If files of the clone differ from those in the kit, they are listed, and nothing is done until --existing decides what happens to
them.`,
		Example: `  em-infra kit restore --stack k3s-dev --kit /media/stick/k3s-dev.tar.age
  em-infra kit restore --stack k3s-dev --kit /media/stick/k3s-dev.tar.age --existing keep  # the inventory in git is newer`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			options.Existing = operator.Existing(existing)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			restored, err := o.RestoreKit(command.Context(), options)
			if err != nil {
				return err
			}
			printRestoredKit(streams.out, o, restored)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindKit(command, &options.Kit)
	command.Flags().StringVar(&existing, "existing", "", "for files that differ from the kit's: keep leaves them unchanged, replace writes those of the kit")
	return command
}

func printRestoredKit(out io.Writer, o *operator.Operator, restored *operator.KitRestored) {
	for _, path := range restored.Written {
		fmt.Fprintf(out, " written    %s\n", workspace.Nearby(path))
	}
	for _, path := range restored.Kept {
		fmt.Fprintf(out, " kept       %s: it differs from the kit's\n", workspace.Nearby(path))
	}
	state := "the stack has a state, which is not changed"
	if restored.Resources > 0 {
		state = fmt.Sprintf("the state is that of the kit, with %d resources", restored.Resources)
	}
	fmt.Fprintf(out, "\n%s; the kit was made %s UTC\n", state, restored.Kit.Made.Format(madeAt))
	place := o.Workspace()
	if restored.Passphrase != "" && !place.Rehearsed {
		printPassphrase(out, workspace.Nearby(restored.Passphrase))
	}
	fmt.Fprintf(out, "next: %s   # should show no change\n", typed("preview %s", o.Place()))
}
