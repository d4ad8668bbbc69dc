package main

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	emulator "github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func newLabServeCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices lab.Choices
	var tools command.ToolFlags
	var shared string
	command := &cobra.Command{
		Use:    "serve --stack STACK",
		Short:  "Be the lab, in the foreground",
		Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			dir, inventories, err := labOf(&flags, shared)
			if err != nil {
				return refused(err)
			}
			stacks, err := emulator.LoadStacks(inventories...)
			if err != nil {
				return refused(err)
			}
			site, err := emulator.SiteOf(stacks)
			if err != nil {
				return refused(err)
			}
			site.Shared = shared != ""
			options, err := choices.Options(emulator.Options{
				Dir: dir, Stack: cmp.Or(shared, flags.stack), Site: site, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
				Lifeline: os.Getenv(emulator.LifelineVariable), Registry: emulator.DefaultRegistry(),
			})
			if err != nil {
				return refused(err)
			}
			if options.Kubernetes, err = tools.Tools(); err != nil {
				return refused(err)
			}
			return emulator.Serve(command.Context(), options)
		},
	}
	flags.bindPlace(command)
	bindChoices(command, &choices)
	tools.Bind(command)
	command.Flags().StringVar(&shared, "shared", "", "a lab that several stacks share, by its name")
	return command
}

// labOf returns the folder of a lab and those of the inventories that it serves: all stacks that share it, or the only one.
func labOf(flags *stackFlags, shared string) (dir string, inventories []string, err error) {
	if shared != "" {
		return operator.SharedLab("", shared)
	}
	o, err := flags.open(streams{})
	if err != nil {
		return "", nil, err
	}
	w := o.Workspace()
	return w.Lab, []string{w.Inventory}, w.Prepare()
}
