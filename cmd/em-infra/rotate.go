package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newRotateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "rotate",
		Short: "Replace a credential by a new one",
		Long: `Replace a credential by a new one. Each command names its steps with --dry-run, and goes on where it was killed when it is run
again.`,
	}
	command.AddCommand(newRotatePassphraseCommand(), newRotateTokenCommand(), newRotateTalosCACommand(), newRotateKubernetesCACommand(),
		newRotateEncryptionKeyCommand(), newRotateServiceAccountKeyCommand(), newRotateJoinTokensCommand())
	return command
}

// printSteps prints what a rotation would do.
func printSteps(out io.Writer, steps []string) error {
	return printStepsAt(out, steps, "nothing in the cluster stops or restarts")
}

// printStepsAt prints what a rotation would do, and what that costs the cluster.
func printStepsAt(out io.Writer, steps []string, cost string) error {
	for i, step := range steps {
		fmt.Fprintf(out, "%d. %s\n", i+1, asTyped(step))
	}
	_, err := fmt.Fprintln(out, cost)
	return err
}

// bindWithout binds the flag that leaves nodes out of a rotation of machine secrets.
func bindWithout(command *cobra.Command, place *stackFlags, options *operator.RotationOptions) {
	command.Flags().StringSliceVar(&options.Without, "without", nil, "a node that is lost for good, whose machine is off or deleted: it keeps the former secrets")
	completeFlag(command, "without", place.completeNodes)
}

func newRotatePassphraseCommand() *cobra.Command {
	var (
		flags    stackFlags
		file     string
		isDryRun bool
	)
	command := &cobra.Command{
		Use:   "passphrase --stack STACK --new-passphrase-file FILE",
		Short: "Seal the configuration and the state with a new passphrase",
		Long: `Seal the configuration and the state with a new passphrase, the first line of a file. The present passphrase is read from where
it always is. If the command is killed, run it again with the same two passphrases; until then other commands refuse the stack.

Backups of the state from before keep the former passphrase; their names end with -former-passphrase. So do snapshots of etcd and
recovery kits that are sealed with it: keep it as long as you keep them.`,
		Example: "  em-infra rotate passphrase --stack k3s-dev --new-passphrase-file ~/k3s-dev.new",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if isDryRun {
				return printSteps(streams.out, operator.PassphraseRotation)
			}
			phrase, err := readPassphrase(file)
			if err != nil {
				return err
			}
			options := operator.RotatePassphraseOptions{NewPassphrase: phrase}
			if err := options.Check(); err != nil {
				return err
			}
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			rotated, err := o.RotatePassphrase(command.Context(), options)
			if err != nil {
				return err
			}
			printRotatedPassphrase(streams.out, o, rotated, file)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().StringVar(&file, "new-passphrase-file", "", "the file with the new passphrase")
	command.Flags().BoolVar(&isDryRun, "dry-run", false, "print the steps and change nothing")
	return command
}

// readPassphrase reads a passphrase as Pulumi does: without the white space around it.
func readPassphrase(file string) (string, error) {
	if file == "" {
		return "", refused(errors.New("no new passphrase is given: write one into a file and add --new-passphrase-file FILE"))
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user named it
	if err != nil {
		return "", refused(fmt.Errorf("--new-passphrase-file: %w: name the file with the new passphrase", err))
	}
	return strings.TrimSpace(string(text)), nil
}

func printRotatedPassphrase(out io.Writer, o *operator.Operator, rotated *operator.PassphraseRotated, file string) {
	place := o.Workspace()
	fmt.Fprintf(out, "\nthe passphrase of stack %s is changed\n", place.Stack)
	fmt.Fprintf(out, "keep the former one for the older backups of the state (%d), and for the snapshots of etcd and the recovery kits that it seals\n", rotated.Former)
	if !place.Rehearsed {
		fmt.Fprintf(out, "commit %s\n", workspace.Nearby(place.StackFile()))
		printPassphrase(out, file)
	}
	if content, err := o.Content(); err == nil && content.Kind() != operator.KindPlatform { // only a cluster has kits
		return
	}
	fmt.Fprintf(out, "next: %s   # a new kit, with a new snapshot of etcd\n", typed("kit create %s", o.Place()))
}

// printPassphrase prints the commands after which the passphrase in a file is used. The variable with a passphrase takes precedence over the
// one with the name of a file (pulumi sdk/v3 v3.254.0, go/auto, and pkg/v3, secrets/passphrase).
func printPassphrase(out io.Writer, file string) {
	if _, isSet := os.LookupEnv(passphraseVariable); isSet {
		fmt.Fprintf(out, "run   unset %s\n", passphraseVariable)
	}
	if absolute, err := filepath.Abs(file); err == nil {
		file = absolute // the shell may be in another folder when it is used
	}
	fmt.Fprintf(out, "run   export PULUMI_CONFIG_PASSPHRASE_FILE=%s\n", shell.Word(file))
}

// passphraseVariable has the passphrase itself.
const passphraseVariable = "PULUMI_CONFIG_PASSPHRASE"
