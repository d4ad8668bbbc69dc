package operator

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// guarded runs an engine whose plugins end with it. An engine that was killed leaves them behind, and they go on for minutes: they
// are ended at once. When this process is killed, a guard does that once the engine has ended; when the guard is killed, too, or
// there is none, the next run does (decision 34).
func (s *session) guarded(operate func() error) error {
	release, err := guard(s.options.Tool, s.workspace.Home)
	if err != nil {
		return err
	}
	err = operate()
	if err == nil {
		return release()
	}
	return errors.Join(err, s.recovery.EndOrphans("plugins of an engine that was killed"), release())
}

// Guard is what the process of [Options.Tool] does that guards the plugins of a PULUMI_HOME. It waits until who holds the other end
// of tool has ended, lets engines that still work come to their end, and ends the plugins that they leave behind.
func Guard(home string, tool io.Reader) error { return recovery.Guard(home, tool) }

// guardCommand is the command of em-infra that is a guard; the argument is the PULUMI_HOME of the plugins.
const guardCommand = "guard"

// guard starts a process of em-infra that holds the other end of a pipe of this one. It is in a group of its own, so that a Ctrl-C
// in the terminal does not reach it. release lets it go. Without an em-infra there is no guard.
func guard(tool, home string) (release func() error, err error) {
	if tool == "" {
		return func() error { return nil }, nil
	}
	process := exec.Command(tool, guardCommand, home) //nolint:gosec // the em-infra that the caller has named
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
