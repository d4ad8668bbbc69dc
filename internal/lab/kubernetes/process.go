package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// patience is how long a process may take to end before it is killed. Nothing is lost then: etcd has what was answered.
const patience = 3 * time.Second

// component is a process of a control plane.
type component struct {
	name string // of the process, and of its log
	path string
	args []string
}

// errEnded says that a process ended that nobody told to.
var errEnded = errors.New("it ended by itself")

// run runs the process until it ends or the context does. It ends with this program too, however that ends.
func (c component) run(ctx context.Context, dir string) error {
	logFile := filepath.Join(dir, c.name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer log.Close()
	command := exec.CommandContext(ctx, c.path, c.args...)
	command.Dir = dir
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	command.Stdout, command.Stderr = log, log
	// A group of its own keeps the terminal's signals away.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = patience

	// The signal comes when the thread ends that started the process, so that thread has to stay (prctl(2)).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = command.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = errEnded
	}
	return fmt.Errorf("%s: %w (log: %s)", c.name, err, logFile)
}

// ignoreCanceled is the error of work that was told to end.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
