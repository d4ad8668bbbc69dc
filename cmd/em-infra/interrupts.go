package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/em-infra/em-infra/internal/engine"
)

// errInterrupted is why the context of an interrupted command ends.
var errInterrupted = errors.New("interrupted")

// withInterrupts returns a context that the first interrupt ends, upon which the engine finishes what is under way. The
// second reaches the engine as one, which then waits for nothing any more; the third ends this process. stop gives the
// signals back.
func withInterrupts(parent context.Context, out io.Writer) (ctx context.Context, stop func()) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, endings()...)
	// A reader that goes away, as in `em-infra up | head`, must not end a run in the middle: with a channel for it a
	// write fails instead (os/signal, "SIGPIPE").
	brokenPipes := make(chan os.Signal, 1)
	signal.Notify(brokenPipes, syscall.SIGPIPE)

	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(engine.WithTermination(parent, hurry))
	ended := make(chan struct{})
	go func() {
		first, ok := next(interrupts, ended)
		if !ok {
			return
		}
		if first == os.Interrupt {
			fmt.Fprintln(out, "\ninterrupted: what is under way is finished first; Ctrl-C again ends it at once")
		}
		cancel(errInterrupted)
		if _, ok := next(interrupts, ended); ok {
			close(hurry)
			signal.Stop(interrupts)
		}
	}()
	return ctx, func() {
		close(ended)
		cancel(nil)
		signal.Stop(interrupts)
		signal.Stop(brokenPipes)
	}
}

// endings returns the signals that ask for an end. A hang-up that `nohup` has switched off stays off.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func next(signals <-chan os.Signal, ended <-chan struct{}) (os.Signal, bool) {
	select {
	case s := <-signals:
		return s, true
	case <-ended:
		return nil, false
	}
}
