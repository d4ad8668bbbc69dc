package main

import (
	"fmt"

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
			ctx := command.Context()
			s, err := openSession(ctx, flags, want{consent: "delete all of it"}, streamsOf(command))
			if err != nil {
				return err
			}
			if err := s.quiet(); err != nil {
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
			fmt.Fprintf(s.out, "\n%s is gone. The ISO of Talos stays on the host: a machine that names it in its drive would not start without it.\n", s.workspace.Stack)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindVerbose(command)
	flags.bindRefresh(command)
	return command
}
