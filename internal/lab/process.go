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
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readyVariable tells a lab's process which file descriptor it says that it is ready on.
const readyVariable = "EM_INFRA_LAB_READY_FD"

// readyWord is what a lab says when all of it listens; anything else is why it does not.
const readyWord = "ready"

const stopTimeout = 15 * time.Second

func lockFile(dir string) string { return filepath.Join(dir, "lab.lock") }

// LogFile is where the lab in a folder writes what goes wrong in it.
func LogFile(dir string) string { return filepath.Join(dir, "lab.log") }

// Running returns the process ID of the lab that runs in a folder, 0 when none does.
func Running(dir string) (int, error) {
	file, err := os.Open(lockFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return 0, nil // nobody holds it
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Start runs a lab in a process of its own, which outlives this one, and returns when it listens. serve is the command
// that calls [Serve].
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
	serve.Env = append(os.Environ(), readyVariable+"=3") // the first of ExtraFiles
	serve.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = serve.Start()
	say.Close()
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = serve.Process.Kill() })() // only while it is not ready
	return firstWord(ctx, said)
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
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("end the lab (process %d): %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		if pid, err := Running(dir); err != nil || pid == 0 {
			return true, err
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("the lab (process %d) does not end: end it with `kill -9 %d`; its state is kept", pid, pid)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// lock makes this process the lab of a folder.
func lock(dir string) (release func(), err error) {
	file, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, errors.New("a lab runs in this folder already: see it with `em-infra lab status`")
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}
