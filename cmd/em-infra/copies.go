package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// copies are what is kept of a stack, such as backups of its state, and how they are listed.
type copies[T any] struct {
	// parent is the command that the list belongs to, and what completes "List the … of the stack".
	parent, what string
	// of returns them, newest first.
	of func(*operator.Operator, context.Context) ([]T, error)
	// none is the line that is printed if there are none.
	none func(*operator.Operator) string
	// table prints them.
	table func([]T) terminal.Table
}

// onThisMachine adapts a function that lists copies on this machine and so needs no context.
func onThisMachine[T any](list func(*operator.Operator) ([]T, error)) func(*operator.Operator, context.Context) ([]T, error) {
	return func(o *operator.Operator, _ context.Context) ([]T, error) { return list(o) }
}

// newListCommand returns the command that lists copies, newest first.
func newListCommand[T any](kept copies[T]) *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	called := toolName + " " + kept.parent + " list --stack k3s-dev"
	command := &cobra.Command{
		Use:     "list --stack STACK",
		Short:   "List the " + kept.what + ", newest first",
		Example: "  " + called + "\n  " + called + " --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			found, err := kept.of(o, command.Context())
			switch {
			case err != nil:
				return err
			case output == outputJSON:
				return writeJSON(streams.out, append([]T{}, found...))
			case len(found) == 0:
				fmt.Fprintln(streams.out, kept.none(o))
				return nil
			default:
				return kept.table(found).Write(streams.out)
			}
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}

// nothingKept is the line of an empty list.
func nothingKept(o *operator.Operator, what, folder, who string) string {
	return fmt.Sprintf("no %s of stack %s in %s; %s", what, o.Workspace().Stack, folder, who)
}

// whereIs returns where a copy is, on this machine, in a bucket, or in both.
func whereIs(local, bucket bool) string {
	switch {
	case local && bucket:
		return "both"
	case bucket:
		return "bucket"
	default:
		return "here"
	}
}

const madeAt = "2006-01-02 15:04:05"

func kibibytes(bytes int64) string { return fmt.Sprintf("%d KiB", (bytes+1023)/1024) }
