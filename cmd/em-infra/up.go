package main

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/stacks"
)

func newUpCommand() *cobra.Command {
	var flags stackFlags
	var choices labChoices
	var allowed allowances
	command := &cobra.Command{
		Use:   "up --stack STACK",
		Short: "Bring the cluster to what the inventory says; safe to run again",
		Example: `  em-infra up --stack k3s-dev --lab --yes   # rehearse on the emulated host
  em-infra up --stack k3s-dev               # on the real one, after a look at the preview`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			s, err := openSession(ctx, flags, want{startLab: true, choices: choices, newStack: true, consent: "bring it up"}, streamsOf(command))
			if err != nil {
				return err
			}
			if err := s.mayGoUp(ctx); err != nil {
				return err
			}
			permissions, err := allowed.permissions()
			if err != nil {
				return refused(err)
			}
			before, err := s.backUp(ctx, "before-up")
			if err != nil {
				return err
			}
			if err := s.recover(ctx, true); err != nil {
				return err
			}
			if before != nil || s.consent != "" { // a first run can neither delete nor replace
				if err := s.weigh(ctx, permissions); err != nil {
					return err
				}
			}
			var result auto.UpResult
			err = s.recorded(ctx, "up", func(stream chan<- events.EngineEvent) (err error) {
				result, err = s.stack.Up(ctx, optup.ProgressStreams(s.out), optup.ErrorProgressStreams(s.err), optup.SuppressOutputs(), optup.EventStreams(stream))
				return err
			}, nil)
			if _, lost := s.backUp(context.WithoutCancel(ctx), "after-up"); lost != nil {
				return errors.Join(err, lost)
			}
			if err != nil {
				return s.failed(ctx, "up", err)
			}
			outputs, err := stacks.ParseOutputs(result.Outputs)
			if err != nil {
				return err
			}
			return s.summarize(outputs)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	choices.bind(command)
	allowed.bind(command)
	return command
}
