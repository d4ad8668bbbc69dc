// Package engine runs the Pulumi CLI for the Automation API in a way that never costs a state.
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
	"syscall"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// Command runs one Pulumi CLI. Unlike the Automation API's own, which kills the CLI ten seconds after it was asked to
// end, it waits until the engine has finished what it was doing and has written its state: a killed engine leaves
// pending operations and a lock behind (F35).
type Command struct {
	path    string
	version semver.Version
	runs    atomic.Uint64
	writes  atomic.Uint64
}

// NewCommand takes the path of a Pulumi CLI and its version.
func NewCommand(path string, version semver.Version) *Command {
	return &Command{path: path, version: version}
}

var _ auto.PulumiCommand = (*Command)(nil)

// Runs counts the processes that were started.
func (c *Command) Runs() uint64 { return c.runs.Load() }

// Writes counts the runs that may have changed a state. What was exported is current, as far as this process is concerned,
// while the count stays the same.
func (c *Command) Writes() uint64 { return c.writes.Load() }

// reading are the commands of the CLI that leave every state as it is. What a preview
// refreshes stays in memory (pulumi pkg/v3 v3.254.0, backend/diy/backend.go, apply: a dry run has no snapshot manager).
var reading = []string{
	"config", "preview", "stack export", "stack history", "stack ls", "stack output", "stack select", "version", "whoami",
}

func readsOnly(args []string) bool {
	line := strings.Join(args, " ") + " "
	return slices.ContainsFunc(reading, func(command string) bool { return strings.HasPrefix(line, command+" ") })
}

// Version of the CLI.
func (c *Command) Version() semver.Version { return c.version }

// Run runs the CLI to its end. When ctx ends it is sent one interrupt, upon which the engine cancels what it has not
// begun, finishes what it has, and saves; [WithTermination] is for those who cannot wait for that. A CLI that was
// interrupted is an error of context.Cause(ctx). What the CLI prints goes to the writers too; one that fails is left out
// from then on.
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
	// A group of its own: a Ctrl-C in the terminal must reach it once, not twice, since a second one ends it at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	err := runInterruptible(ctx, cmd)
	if err != nil && cmd.ProcessState == nil {
		fmt.Fprintf(cmd.Stderr, "error: %v\n", err) // nobody else can say why there is no output
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

// interrupt sends one interrupt when ctx ends and a second one on termination, unless the process ends before.
func interrupt(ctx context.Context, process *os.Process, ended <-chan struct{}) {
	for _, asked := range []<-chan struct{}{ctx.Done(), termination(ctx)} {
		select {
		case <-ended:
			return
		case <-asked:
			_ = process.Signal(os.Interrupt) // it may have ended by itself just now
		}
	}
}

type terminationKey struct{}

// WithTermination returns a context under which [Command.Run] sends the CLI a second interrupt when hurry is closed after
// the context has ended. The engine then waits for nothing any more and saves what it knows, with the operations that
// are under way as pending (pulumi pkg/v3 v3.254.0, backend/cancellation_scope.go).
func WithTermination(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, terminationKey{}, hurry)
}

// termination is nil, which is never closed, where nobody asked for one.
func termination(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(terminationKey{}).(<-chan struct{})
	return hurry
}
