package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"
)

func newPreviewCommand() *cobra.Command {
	var (
		flags   stackFlags
		refresh bool
		diff    bool
	)
	command := &cobra.Command{
		Use:   "preview --stack STACK",
		Short: "Show what up would do; exit code 2 when it would do something",
		Long: `Show what up would do, and do nothing. The exit code is 0 when nothing would change and 2 when something would.
A preview compares the inventory with the state; --refresh asks the host too, so that it finds what was changed behind
our back.`,
		Example: "  em-infra preview --stack k3s-dev --lab\n  em-infra preview --stack k3s-dev --refresh   # a drift check",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			s, err := openSession(ctx, flags, want{newStack: true}, streamsOf(command))
			if err != nil {
				return err
			}
			options := []optpreview.Option{optpreview.ProgressStreams(s.out), optpreview.ErrorProgressStreams(s.err)}
			if refresh {
				options = append(options, optpreview.Refresh())
			}
			if diff {
				options = append(options, optpreview.Diff())
			}
			var result auto.PreviewResult
			err = s.recorded(ctx, "preview", func(stream chan<- events.EngineEvent) (err error) {
				result, err = s.stack.Preview(ctx, append(options, optpreview.EventStreams(stream))...)
				return err
			})
			if err != nil {
				return s.failed(ctx, "preview", err)
			}
			if hasChanges(result.ChangeSummary) {
				return changesFound()
			}
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().BoolVar(&refresh, "refresh", false, "ask the host for what is there before comparing")
	command.Flags().BoolVar(&diff, "diff", false, "show every property that differs")
	return command
}

func hasChanges(summary map[apitype.OpType]int) bool {
	for operation, count := range summary {
		if operation != apitype.OpSame && operation != apitype.OpRead && count > 0 {
			return true
		}
	}
	return false
}
