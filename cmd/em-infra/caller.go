package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/process"
)

// errCallerGone is the reason why an operation that a Command of the program has called ends early.
var errCallerGone = errors.New("the plugin that called this has ended")

// callerInterval is the longest time until an operation notices that.
const callerInterval = 500 * time.Millisecond

// whileCallerReads ends the operations that the program's Commands call together with the plugin that called them: a plugin
// that was killed no longer reads their output. Its shell keeps waiting for them, so they would drain and reset nodes for a run
// that has ended.
func whileCallerReads(parent *cobra.Command) *cobra.Command {
	for _, command := range parent.Commands() {
		operate := command.RunE
		command.RunE = func(command *cobra.Command, args []string) error {
			ctx, cancel := whileRead(command.Context(), os.Stdout)
			defer cancel()
			command.SetContext(ctx)
			return operate(command, args)
		}
	}
	return parent
}

// whileRead returns a context that is canceled when the reader of the pipe out has closed it. If out is no pipe it is never
// canceled.
func whileRead(ctx context.Context, out *os.File) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			for ctx.Err() == nil && process.IsRead(out, callerInterval) {
			}
			cancel(errCallerGone)
		}()
	}
	return ctx, func() { cancel(nil) }
}
