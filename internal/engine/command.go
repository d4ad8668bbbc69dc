// Package engine runs the Pulumi CLI for the Automation API in a way that never costs a state.
package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
}

// NewCommand takes the path of a Pulumi CLI and its version.
func NewCommand(path string, version semver.Version) *Command {
	return &Command{path: path, version: version}
}

var _ auto.PulumiCommand = (*Command)(nil)

// Version of the CLI.
func (c *Command) Version() semver.Version { return c.version }

// Run runs the CLI to its end. When ctx ends it is sent one interrupt, upon which the engine cancels what it has not
// begun, finishes what it has, and saves. A CLI that was interrupted is an error of context.Cause(ctx).
func (c *Command) Run(ctx context.Context, dir string, stdin io.Reader, stdouts, stderrs []io.Writer, env []string, args ...string) (string, string, int, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(c.path, append([]string{"--non-interactive"}, args...)...) //nolint:gosec // the CLI that the tool chain installed
	cmd.Dir = dir
	cmd.Env = c.environment(env)
	cmd.Stdin = stdin
	cmd.Stdout = io.MultiWriter(append(stdouts, &stdout)...)
	cmd.Stderr = io.MultiWriter(append(stderrs, &stderr)...)
	// A group of its own: a Ctrl-C in the terminal must reach it once, not twice, since a second one ends it at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	err := runInterruptible(ctx, cmd)
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), err
}

func runInterruptible(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself just now
	})
	defer stop()
	err := cmd.Wait()
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// environment lets the plugins' own look for the CLI find this one, and tells it who calls.
func (c *Command) environment(extra []string) []string {
	env := append(os.Environ(), extra...)
	return append(env, "PULUMI_AUTOMATION_API=true", "PATH="+filepath.Dir(c.path)+string(os.PathListSeparator)+os.Getenv("PATH"))
}
