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

// errInterrupted is the cause of the context of an interrupted command.
var errInterrupted = errors.New("interrupted")

// withInterrupts returns a context that the first interrupt ends; the engine then finishes the operations in progress. The
// second is passed to the engine, which then stops waiting; the third ends this process. stop restores the signals.
func withInterrupts(parent context.Context, out io.Writer) (ctx context.Context, stop func()) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, endings()...)
	// A reader that ends, as in `em-infra up | head`, must not end a run: with a channel for SIGPIPE a write fails instead
	// (os/signal, "SIGPIPE").
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

// endings returns the signals that request an end. A hang-up that `nohup` ignores stays ignored.
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
