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
	"strconv"
	"syscall"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// readyVariable tells a lab's process which file descriptor it says that it is ready on.
const readyVariable = "EM_INFRA_LAB_READY_FD"

// LifelineVariable names the file that is a lab's lifeline ([Options]) in the environment of the process that starts it. It is for
// tests, whose labs must not outlive them.
const LifelineVariable = "EM_INFRA_LAB_LIFELINE"

// readyWord is what a lab says when all of it listens; anything else is why it does not.
const readyWord = "ready"

const stopTimeout = 15 * time.Second

// LogFile is where the lab in a folder writes what goes wrong in it.
func LogFile(dir string) string { return filepath.Join(dir, "lab.log") }

// Start runs a lab in a process of its own, which outlives this one, and returns when it listens. serve is the command
// that calls [Serve]. The error is what the lab says keeps it from that; the process is gone then.
func Start(ctx context.Context, dir string, serve *exec.Cmd) error {
	log, err := os.OpenFile(LogFile(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	said, say, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()

	serve.Stdout, serve.Stderr = log, log
	serve.ExtraFiles = []*os.File{say}
	serve.Env = append(serve.Environ(), readyVariable+"=3") // the first of ExtraFiles
	serve.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = serve.Start()
	say.Close()
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	return whenReady(ctx, serve, said)
}

// whenReady waits for the lab's first word. Until then the lab ends with ctx.
func whenReady(ctx context.Context, serve *exec.Cmd, said io.Reader) error {
	kill := func() { _ = serve.Process.Kill() } // it may have ended by itself just now
	stopWatching := context.AfterFunc(ctx, kill)
	err := firstWord(ctx, said)
	stopWatching()
	if err == nil {
		return serve.Process.Release()
	}
	if ctx.Err() != nil {
		kill()
	}
	_ = serve.Wait() // its first word said more than how it ended
	return err
}

func firstWord(ctx context.Context, said io.Reader) error {
	text, err := io.ReadAll(said)
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

// sayReady tells whoever started this process that the lab listens, or why it does not.
func sayReady(problem error) error {
	number, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return problem // started by hand: there is nobody to tell
	}
	say := os.NewFile(uintptr(number), "ready")
	word := readyWord
	if problem != nil {
		word = problem.Error()
	}
	_, err = say.WriteString(word)
	return errors.Join(problem, err, say.Close())
}

// Stop ends the lab that runs in a folder and returns when it is gone; its state is kept. It returns false when none ran.
func Stop(ctx context.Context, dir string) (bool, error) {
	pid, err := Running(dir)
	if err != nil || pid == 0 {
		return false, err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
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
