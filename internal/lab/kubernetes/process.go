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

	"golang.org/x/sync/errgroup"
)

// patience is how long a process may take to end before it is killed. A kill loses nothing: etcd has stored everything that
// it has confirmed.
const patience = 3 * time.Second

// component is a process of a control plane.
type component struct {
	name string // of the process and of its log
	path string
	args []string
}

// process is a running component, which may be stopped before the others.
type process struct {
	ctx  context.Context // ends when the process is to end
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
}

// start runs a component in a group. The group fails if the component ends without having been stopped.
func start(ctx context.Context, group *errgroup.Group, c component, dir string) *process {
	return startAs(ctx, group, func(own context.Context) error { return c.run(own, dir) })
}

// keep runs a component in a group. One that ends by itself is started again after a pause, as a kubelet does with the container of a
// static pod. A controller manager and a scheduler end when they cannot renew their Leases (kubernetes v1.35, cmd/kube-scheduler/app/
// server.go, OnStoppedLeading).
func keep(ctx context.Context, group *errgroup.Group, c component, dir string, pause time.Duration, report func(error)) *process {
	return startAs(ctx, group, func(own context.Context) error {
		for {
			err := c.run(own, dir)
			if own.Err() != nil {
				return own.Err()
			}
			report(err)
			select {
			case <-time.After(pause):
			case <-own.Done():
				return own.Err()
			}
		}
	})
}

func startAs(ctx context.Context, group *errgroup.Group, run func(ctx context.Context) error) *process {
	own, stop := context.WithCancel(ctx)
	p := &process{ctx: own, stop: stop, done: make(chan struct{})}
	group.Go(func() error {
		defer close(p.done)
		defer stop()
		if err := run(own); own.Err() == nil {
			return err
		}
		return ctx.Err() // nil if only this one was stopped
	})
	return p
}

// relaxedCollector lets heaps grow to five times what lives in them between two collections, twice by default. Most of what an API
// server allocates at its start lives to its end: a start takes a fifth less processor time, and 130 MiB more memory.
const relaxedCollector = "GOGC=400"

// fewerProcessors lets a process run on half of the processors: a cluster is several processes, and labs run side by side. On two processors, a
// start and an idle cluster then take a fifth less processor time, since Go wakes no second thread for each of its many short timers.
func fewerProcessors() string { return fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.GOMAXPROCS(0)/2)) }

// errEnded is the error of a process that ended by itself.
var errEnded = errors.New("it ended by itself")

// run runs the process until it or the context ends. The process also ends with this program in every case.
func (c component) run(ctx context.Context, dir string) error {
	logFile := filepath.Join(dir, c.name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer log.Close()
	command := exec.CommandContext(ctx, c.path, c.args...)
	command.Dir = dir
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), relaxedCollector, fewerProcessors()}
	command.Stdout, command.Stderr = log, log
	bind(command)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = patience

	// The kernel sends the signal when the thread that started the process ends, so that thread must stay (prctl(2)).
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

// ignoreCanceled drops the error of a cancellation.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
