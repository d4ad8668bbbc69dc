package main

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/spf13/cobra"
)

func newDestroyCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:     "destroy --stack STACK",
		Short:   "Delete everything that up made; the inventory and the state's history stay",
		Example: "  em-infra destroy --stack k3s-dev --lab --yes",
		RunE: func(command *cobra.Command, _ []string) error {
			s, err := openSession(command.Context(), flags, want{consent: "delete all of it"}, streamsOf(command))
			if err != nil {
				return err
			}
			return s.destroy(command.Context())
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	flags.bindVerbose(command)
	flags.bindRefresh(command)
	return command
}

// destroy has the engine delete all that it knows, between everything that makes that safe.
func (s *session) destroy(ctx context.Context) error {
	if err := s.quiet(ctx); err != nil {
		return err
	}
	if err := s.checkUnprotected(ctx); err != nil {
		return err
	}
	if _, err := s.backUp(ctx, "before-destroy"); err != nil {
		return err
	}
	if err := s.recover(ctx, false); err != nil {
		return err
	}
	if err := s.confirm(ctx); err != nil {
		return err
	}
	if err := s.deleteNeverRan(ctx); err != nil {
		return err
	}
	had, err := s.possessions(ctx)
	if err != nil {
		return err
	}
	err = s.told(ctx, "destroy", func(run engineRun) error {
		_, err := s.stack.Destroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
	if err != nil {
		return s.failed(ctx, "destroy", err)
	}
	if err := s.forgetCredentials(); err != nil {
		return err
	}
	return s.checkNothingLeft(ctx, had)
}
