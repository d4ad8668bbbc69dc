// Package engine runs the Pulumi CLI for the Automation API without ever losing a state.
package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/process"
)

// Command runs one Pulumi CLI. The Automation API's own command kills the CLI ten seconds after an interrupt; this one waits
// until the engine has finished its operations and has written its state: a killed engine leaves pending operations and a lock
// (F35).
type Command struct {
	path    string
	version semver.Version
	runs    atomic.Uint64
	writes  atomic.Uint64
}

// NewCommand returns the Pulumi CLI at a path, of a version.
func NewCommand(path string, version semver.Version) *Command {
	return &Command{path: path, version: version}
}

var _ auto.PulumiCommand = (*Command)(nil)

// Runs returns the number of processes that were started.
func (c *Command) Runs() uint64 { return c.runs.Load() }

// Writes returns the number of runs that may have changed a state. While it stays the same, an exported state is current as far
// as this process is concerned.
func (c *Command) Writes() uint64 { return c.writes.Load() }

// reading are the commands of the CLI that change no state. The refresh of a preview stays in memory (pulumi pkg/v3 v3.254.0,
// backend/diy/backend.go, apply: a dry run has no snapshot manager).
var reading = []string{
	"config", "preview", "stack export", "stack history", "stack ls", "stack output", "stack select", "version", "whoami",
}

func readsOnly(args []string) bool {
	line := strings.Join(args, " ") + " "
	return slices.ContainsFunc(reading, func(command string) bool { return strings.HasPrefix(line, command+" ") })
}

// Version returns the version of the CLI.
func (c *Command) Version() semver.Version { return c.version }

// Run runs the CLI to its end. When ctx ends, Run sends one interrupt: the engine cancels operations that have not begun,
// finishes the others, and saves the state. [WithTermination] sends a second one. For an interrupted CLI the error is
// context.Cause(ctx). The output is also copied to the writers; a writer that fails is skipped from then on.
func (c *Command) Run(ctx context.Context, dir string, stdin io.Reader, stdouts, stderrs []io.Writer, env []string, args ...string) (string, string, int, error) {
	c.runs.Add(1)
	if !readsOnly(args) {
		defer c.writes.Add(1)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(c.path, append([]string{"--non-interactive"}, args...)...) //nolint:gosec // the CLI that the tool chain installed
	cmd.Dir = dir
	cmd.Env = environment(c.path, os.Environ(), env)
	cmd.Stdin = stdin
	cmd.Stdout = newTee(&stdout, stdouts)
	cmd.Stderr = newTee(&stderr, stderrs)
	// A process group of its own: a Ctrl-C in the terminal must reach the CLI once; a second one would end it at once.
	process.Lead(cmd)

	err := runInterruptible(ctx, cmd)
	if err != nil && cmd.ProcessState == nil {
		fmt.Fprintf(cmd.Stderr, "error: %v\n", err) // otherwise nothing would explain the missing output
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), err
}

func runInterruptible(ctx context.Context, cmd *exec.Cmd) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go interrupt(ctx, cmd.Process, ended)
	err := cmd.Wait()
	close(ended)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// interrupt sends one interrupt when ctx ends and a second one on termination, unless the process ends first.
func interrupt(ctx context.Context, cli *os.Process, ended <-chan struct{}) {
	for _, asked := range []<-chan struct{}{ctx.Done(), termination(ctx)} {
		select {
		case <-ended:
			return
		case <-asked:
			_ = process.Interrupt(cli) // it may have ended just now
		}
	}
}

type terminationKey struct{}

// WithTermination returns a context under which [Command.Run] sends the CLI a second interrupt when hurry is closed after the
// context has ended. The engine then stops waiting and saves the state, with operations in progress as pending (pulumi pkg/v3
// v3.254.0, backend/cancellation_scope.go).
func WithTermination(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, terminationKey{}, hurry)
}

// termination returns the channel of [WithTermination]; without one it is nil, which is never closed.
func termination(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(terminationKey{}).(<-chan struct{})
	return hurry
}
