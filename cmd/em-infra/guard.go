package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/recovery"
)

// guarded runs an engine whose plugins end with it. An engine that was killed leaves them behind, and they go on for minutes: they
// are ended at once. When this process is killed, a guard does that once the engine has ended; when the guard is killed, too, the
// next run does (decision 34).
func (s *session) guarded(operate func() error) error {
	release, err := guard(s.workspace.Home)
	if err != nil {
		return err
	}
	err = operate()
	if err == nil {
		return release()
	}
	return errors.Join(err, s.endOrphans("plugins of an engine that was killed"), release())
}

// guard starts a process that holds the other end of a pipe of this one. It is in a group of its own, so that a Ctrl-C in the
// terminal does not reach it. release lets it go.
func guard(home string) (release func() error, err error) {
	tool, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(tool, guardCommand, home) //nolint:gosec // this very program
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	held, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the plugins: %w", err)
	}
	return func() error {
		err := held.Close()
		_ = process.Wait() // one that was killed is missed by nobody: the plugins have ended with their engine
		return err
	}, nil
}

const guardCommand = "guard"

func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardCommand + " HOME",
		Short:  "End the plugins of HOME when who holds the other end of the standard input has ended",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return recovery.Guard(args[0], command.InOrStdin())
		},
	}
}
