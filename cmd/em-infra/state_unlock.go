package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/recovery"
)

func newStateUnlockCommand() *cobra.Command {
	var (
		flags stackFlags
		force bool
	)
	command := &cobra.Command{
		Use:   "unlock --stack STACK",
		Short: "Take the lock of a run that is dead off the state",
		Long: `Take the lock of a run that is dead off the state. The lock of a run that works, or whose machine is another one, stays
and its owner is named; --force takes that too. up and destroy unlock by themselves what can be seen to be dead.`,
		Example: "  em-infra state unlock --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			s, _, err := openState(ctx, flags, "", streamsOf(command))
			if err != nil {
				return err
			}
			return s.unlock(ctx, force)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().BoolVar(&force, "force", false, "take any lock; two runs at once destroy a state")
	return command
}

var errLocksUnseen = errors.New("the locks of a state that is in no folder of this machine cannot be judged from here: if no run works on this stack, add --force")

func (s *session) unlock(ctx context.Context, force bool) error {
	if force {
		if err := s.state.Unlock(ctx); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "every lock of stack %s is removed\n", s.workspace.Stack)
		return nil
	}
	if s.workspace.StateFolder() == "" {
		return refused(errLocksUnseen)
	}
	cleared, err := s.clearLocks()
	var busy *recovery.BusyError
	if errors.As(err, &busy) {
		return refused(fmt.Errorf("%w; if that one is dead for certain, add --force", err))
	}
	if err == nil && cleared == 0 {
		fmt.Fprintf(s.out, "no lock is on stack %s\n", s.workspace.Stack)
	}
	return err
}
