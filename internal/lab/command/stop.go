package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
)

// Stop returns the command that stops a lab and keeps its state. short is its help text.
func Stop(place Place, short string) *cobra.Command {
	command := &cobra.Command{
		Use:     "stop" + place.Words().Usage,
		Short:   short,
		Example: place.Words().example("stop"),
		RunE: func(command *cobra.Command, _ []string) error {
			dir, err := place.Dir()
			if err != nil {
				return Refused(err)
			}
			stopped, err := lab.Stop(command.Context(), dir)
			switch {
			case err != nil:
				return err
			case stopped:
				fmt.Fprintf(command.OutOrStdout(), "%s is stopped; `%s` brings it back as it was\n", place.Lab(), next(place, "start"))
			default:
				fmt.Fprintf(command.OutOrStdout(), "%s was not running\n", place.Lab())
			}
			return nil
		},
	}
	place.Bind(command)
	return command
}
