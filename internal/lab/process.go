package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// readyVariable is the environment variable with the file descriptor on which a lab's process reports that it is ready.
const readyVariable = "EM_INFRA_LAB_READY_FD"

// LifelineVariable is the environment variable with a lab's lifeline ([Options]). It is for tests, whose labs must end with
// them.
const LifelineVariable = "EM_INFRA_LAB_LIFELINE"

// readyWord is the message of a lab that listens. Any other message is the error.
const readyWord = "ready"

const stopTimeout = 15 * time.Second

// LogFile returns the path of a lab's error log.
func LogFile(dir string) string { return filepath.Join(dir, "lab.log") }

// Start runs a lab in its own process, which continues after this one, and returns when it listens. serve is the command that
// calls [Serve]. If the lab fails to start, the error is its message and the process has ended.
func Start(ctx context.Context, dir string, serve *exec.Cmd) error {
	if err := CheckSystem(runtime.GOOS); err != nil {
		return err
	}
	log, err := os.OpenFile(LogFile(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, signal, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()

	serve.Stdout, serve.Stderr = log, log
	serve.ExtraFiles = []*os.File{signal}
	serve.Env = append(serve.Environ(), readyVariable+"=3") // the first of ExtraFiles
	detach(serve)
	err = serve.Start()
	signal.Close()
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	return whenReady(ctx, serve, ready)
}

// whenReady waits for the lab's first message. Until then the lab ends with ctx.
func whenReady(ctx context.Context, serve *exec.Cmd, ready io.Reader) error {
	kill := func() { _ = serve.Process.Kill() } // it may just have ended by itself
	stopWatching := context.AfterFunc(ctx, kill)
	err := firstWord(ctx, ready)
	stopWatching()
	if err == nil {
		return serve.Process.Release()
	}
	if ctx.Err() != nil {
		kill()
	}
	_ = serve.Wait() // its message is more useful than its exit status
	return err
}

func firstWord(ctx context.Context, ready io.Reader) error {
	text, err := io.ReadAll(ready)
	switch word := string(bytes.TrimSpace(text)); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case word == readyWord:
		return nil
	case word == "":
		return errors.New("the lab ended before it was ready: its log says why")
	default:
		return errors.New(word)
	}
}

// sayReady reports to the parent process that the lab listens, or why it does not.
func sayReady(problem error) error {
	number, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return problem // started by hand, without a parent that waits
	}
	signal := os.NewFile(uintptr(number), "ready")
	word := readyWord
	if problem != nil {
		word = problem.Error()
	}
	_, err = signal.WriteString(word)
	return errors.Join(problem, err, signal.Close())
}

// Stop ends the lab that runs in a folder and returns when it is gone. Its state is kept. It returns false if no lab ran.
func Stop(ctx context.Context, dir string) (bool, error) {
	pid, err := Running(dir)
	if err != nil || pid == 0 {
		return false, err
	}
	if err := terminate(pid); err != nil {
		return false, fmt.Errorf("end the lab (process %d): %w", pid, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, errStays)
	defer cancel()
	var looked error
	ended := poll.Until(ctx, 50*time.Millisecond, func(context.Context) (bool, error) {
		running, err := Running(dir)
		looked = err
		return err != nil || running == 0, nil
	})
	switch {
	case ended == nil:
		return true, looked
	case errors.Is(ended, errStays):
		return false, fmt.Errorf("the lab (process %d) does not end: end it with `kill -9 %d`; its state is kept", pid, pid)
	default:
		return false, fmt.Errorf("wait for the lab (process %d) to end: %w", pid, ended)
	}
}

// errStays ends the wait for a lab that does not end.
var errStays = errors.New("it does not end")
