package operator

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/em-infra/em-infra/internal/process"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// pluginGuard ends the engine's plugins together with the engine.
type pluginGuard struct {
	tool       string // the executable of em-infra; empty for no guard process
	home       string // the PULUMI_HOME of the plugins
	endOrphans func(which string) error
}

// run runs the engine and ends its plugins with it. If the engine is killed, its plugins would run on for minutes; run ends them at
// once. If this process is killed, its guard ends the plugins after the engine has ended. If the guard is killed too, or there is
// none, the next run ends them (decision 34).
func (g pluginGuard) run(operate func() error) error {
	release, err := guard(g.tool, g.home)
	if err != nil {
		return err
	}
	err = operate()
	if err == nil {
		return release()
	}
	return withBeside(err, errors.Join(g.endOrphans("plugins of an engine that was killed"), release()))
}

// Guard is the work of the guard process, which [Options.Tool] starts for the plugins of a PULUMI_HOME. It waits until the process
// at the other end of the pipe tool has ended, waits for running engines to end, and then ends the plugins that they leave behind.
func Guard(home string, tool io.Reader) error { return recovery.Guard(home, tool) }

// guardCommand is the command of em-infra for a guard. Its argument is the PULUMI_HOME of the plugins.
const guardCommand = "guard"

// guard starts a guard process and connects it to this one by a pipe, which release closes. The guard has its own process group, so
// that a Ctrl-C in the terminal does not reach it. Without a tool it does nothing.
func guard(tool, home string) (release func() error, err error) {
	if tool == "" {
		return func() error { return nil }, nil
	}
	watch := guardProcess(tool, home)
	process.Lead(watch)
	held, err := watch.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := watch.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the plugins: %w", err)
	}
	return func() error {
		_, _ = io.WriteString(held, "ended\n") // the guard may have been killed; the plugins have ended with their engine
		err := held.Close()
		_ = watch.Wait() // as above
		return err
	}, nil
}

// guardProcess returns the guard's process. Where there is a shell, the shell waits for the end of the pipe: it takes a hundredth of the
// memory and the time of em-infra. It runs em-infra only if the pipe ends without a line in it.
func guardProcess(tool, home string) *exec.Cmd {
	shell, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		return exec.Command(tool, guardCommand, home) //nolint:gosec // the em-infra that the caller has named
	}
	return exec.Command(shell, "-c", `read -r ended || exec "$0" `+guardCommand+` "$1"`, tool, home) //nolint:gosec // as above
}
