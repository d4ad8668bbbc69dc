package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/backup"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newStateRestoreCommand() *cobra.Command {
	var (
		flags stackFlags
		from  string
	)
	command := &cobra.Command{
		Use:   "restore --stack STACK",
		Short: "Put a backup in the place of the state, whether that is lost, damaged or wrong",
		Long: `Put a backup in the place of the state, whether that is lost, damaged or wrong. Nothing else is touched. What a run
that was killed before the backup had begun is looked for on the host and noted, and the next up goes on from there.

What was made after the backup stays where it is and is unknown from then on; its names are printed first.`,
		Example: `  em-infra state restore --stack k3s-dev                                   # the newest
  em-infra state restore --stack k3s-dev --from 2026-11-21T09-14-03-after-up`,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			s, tools, err := openState(ctx, flags, "put the backup back", streamsOf(command))
			if err != nil {
				return err
			}
			return s.restore(ctx, tools, from)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	command.Flags().StringVar(&from, "from", "", "the name of the backup (default: the newest)")
	completeFlag(command, "from", flags.completeBackups)
	return command
}

func (s *session) restore(ctx context.Context, tools *toolchain.Installed, from string) error {
	chosen, restored, err := s.chooseBackup(from)
	if err != nil {
		return refused(err)
	}
	if _, err := s.clearLocks(); err != nil {
		return err
	}
	present, err := s.presentState(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, " restore    %s\n", workspace.Nearby(chosen.Path))
	if len(present.Resources) > 0 {
		s.showDifference(backup.Compare(present, restored.Deployment))
	}
	if s.consent != "" {
		if err := s.ask(ctx); err != nil {
			return err
		}
	}
	if err := s.noteBegun(ctx, tools, restored); err != nil {
		return err
	}
	if err := s.state.Import(ctx, restored); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nthe state is that of %s UTC, with %d resources\nnext: %s   # what differs on the host\n",
		chosen.Taken.Format("2006-01-02 15:04:05"), len(restored.Deployment.Resources), typed("preview %s", s.place))
	return nil
}

// chooseBackup reads a backup whole before anything is done with it.
func (s *session) chooseBackup(name string) (backup.Backup, *engine.Exported, error) {
	chosen, err := s.backups().Find(name)
	if errors.Is(err, backup.ErrNone) {
		err = fmt.Errorf("stack %s has no backup in %s: see docs/state.md, \"When the state is lost\"", s.workspace.Stack, workspace.Nearby(s.workspace.Backups))
	}
	if err != nil {
		return chosen, nil, err
	}
	text, err := chosen.Text()
	if err != nil {
		return chosen, nil, err
	}
	exported, err := s.state.Read(text)
	if err != nil {
		return chosen, nil, fmt.Errorf("backup %s cannot be read (%w): choose another with --from; `em-infra state list %s` shows them", chosen.Name, err, s.place)
	}
	return chosen, exported, nil
}

// presentState is what is to be replaced, kept as a backup itself. It is empty where there is none, which is made up for,
// or none that can be read.
func (s *session) presentState(ctx context.Context) (apitype.DeploymentV3, error) {
	text, err := s.state.ExportSealed(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return apitype.DeploymentV3{}, s.state.Create(ctx)
	}
	if err == nil {
		var present *engine.Exported
		if present, err = s.state.Read(text); err == nil {
			_, err := s.backUp(ctx, "before-restore")
			return present.Deployment, err
		}
	}
	if ctx.Err() != nil {
		return apitype.DeploymentV3{}, context.Cause(ctx)
	}
	fmt.Fprintf(s.out, " damaged    the present state cannot be read: %s\n", lastLine(err.Error()))
	return apitype.DeploymentV3{}, nil
}

// lastLine is where a CLI says what went wrong.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (s *session) showDifference(difference backup.Difference) {
	for _, name := range difference.Forgotten {
		fmt.Fprintf(s.out, " FORGET     %s was made after the backup: it stays where it is and is unknown from then on\n", name)
	}
	for _, name := range difference.Remembered {
		fmt.Fprintf(s.out, " remember   %s is in the backup alone\n", name)
	}
}

// noteBegun finds out what became of what the backup says was begun, which the engine would drop from the state: the next up
// knows it by what is noted here.
func (s *session) noteBegun(ctx context.Context, tools *toolchain.Installed, restored *engine.Exported) error {
	if len(restored.Deployment.PendingOperations) == 0 {
		return nil
	}
	if err := s.selectStack(ctx, tools, false); err != nil {
		return err
	}
	config, err := s.stack.GetAllConfig(ctx)
	if err != nil {
		return said(err)
	}
	s.host = connectionOf(config)
	evidence, err := s.evidence()
	if err != nil {
		return err
	}
	unfinished, err := recovery.LookAtUnfinished(ctx, &restored.Deployment, evidence)
	if err != nil {
		return s.unlockable(err)
	}
	done, _ := unfinished.Note(&restored.Deployment, time.Now())
	s.report(done)
	return nil
}
