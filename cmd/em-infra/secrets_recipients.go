package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
)

func newSecretsShowKeysCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:     "show-keys --stack STACK",
		Short:   "Show the names of the secrets of a stack, and which are empty; no value is shown",
		Example: "  em-infra secrets show-keys --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			w, document, err := place.open()
			if err != nil {
				return err
			}
			values, err := document.Values()
			if err != nil {
				return place.refused(w, err)
			}
			for _, value := range values {
				state := "set"
				if value.Empty {
					state = "empty"
				}
				fmt.Fprintf(command.OutOrStdout(), "%-5s  %s\n", state, value.Path)
			}
			return nil
		},
	})
}

func newSecretsRotateCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:     "rotate --stack STACK",
		Short:   "Encrypt the secrets of a stack with a new data key, for the same recipients",
		Long:    `Encrypt the secrets of a stack with a new data key, for the same recipients. The values do not change, so replace a value that has leaked with "em-infra secrets edit".`,
		Example: "  em-infra secrets rotate --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			_, document, err := place.open()
			if err != nil {
				return err
			}
			if err := document.Rotate(); err != nil {
				return refused(err)
			}
			if err := document.Save(); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s has a new data key; recipients: %d\n", secrets.File, len(document.Recipients()))
			return nil
		},
	})
}

func newSecretsRecipientsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "recipients",
		Short: "Who can read the secrets of a stack, by public age keys",
	}
	command.AddCommand(newRecipientsListCommand(), newRecipientsAddCommand(), newRecipientsRemoveCommand())
	return command
}

func newRecipientsListCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:     "list --stack STACK",
		Short:   "Show the recipients; yours are marked",
		Example: "  em-infra secrets recipients list --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			_, document, err := place.open()
			if err != nil {
				return err
			}
			for _, each := range document.Recipients() {
				mark := ""
				if each.Mine {
					mark = "  yours"
				}
				fmt.Fprintf(command.OutOrStdout(), "%s%s\n", each.Key, mark)
			}
			return nil
		},
	})
}

func newRecipientsAddCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:     "add RECIPIENT --stack STACK",
		Short:   "Let one more public age key read the secrets",
		Example: "  em-infra secrets recipients add age1… --stack k3s-dev",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			w, document, err := place.open()
			if err != nil {
				return err
			}
			if err := document.AddRecipient(args[0]); err != nil {
				return refused(err)
			}
			if err := saveRecipients(w, document); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s can read %s from now on\n", args[0], secrets.File)
			return nil
		},
	})
}

func newRecipientsRemoveCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:   "remove RECIPIENT --stack STACK",
		Short: "Take the secrets away from a public age key, and name what it knew",
		Long: `Take the secrets away from a public age key: the file is encrypted with a new data key, which it does not get. It can still read
each older version of the file, so the values that it knew are named: change each of them where it comes from, then edit the file.`,
		Example: "  em-infra secrets recipients remove age1… --stack k3s-dev",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			w, document, err := place.open()
			if err != nil {
				return err
			}
			if err := document.RemoveRecipient(args[0]); err != nil {
				return refused(err)
			}
			values, err := document.Values()
			if err != nil {
				return place.refused(w, err)
			}
			if err := saveRecipients(w, document); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s can no longer read %s\n", args[0], secrets.File)
			printKnown(command.OutOrStdout(), values)
			printNext(command.OutOrStdout(), "then", typed("secrets edit --stack %s", w.Stack), typed("up --stack %s", w.Stack))
			return nil
		},
	})
}

// printKnown prints the values that a former recipient knew.
func printKnown(out io.Writer, values []secrets.Value) {
	fmt.Fprintln(out, "it knew these, in this file and in its older versions: change each where it comes from")
	for _, value := range values {
		if !value.Empty {
			fmt.Fprintf(out, "  %s\n", value.Path)
		}
	}
}
