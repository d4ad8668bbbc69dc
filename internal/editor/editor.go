// Package editor lets a person edit a secret text. It is in clear only in a folder that the user alone can read, while the editor
// runs.
package editor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/google/shlex"
)

// Variable is the environment variable with the command of the editor.
const Variable = "EDITOR"

// ErrFailed means that the editor did not end well.
var ErrFailed = errors.New("the editor failed")

// Editor is an editor with the terminal that it runs on.
type Editor struct {
	// Command is its command line, to which the path of the file is added. Default: vi.
	Command string
	// Folder is where the folder with the text is made and removed. Default: that of $XDG_RUNTIME_DIR, which is in memory, or else of
	// the system's temporary files.
	Folder string

	In       io.Reader
	Out, Err io.Writer
}

// Edit runs the editor on a file of that name with a text, and returns the text that it leaves. A Ctrl-C is the editor's own: it
// interrupts nothing else. SIGTERM and a hang-up end the editor. The folder with the text is removed in every case.
func (e Editor) Edit(ctx context.Context, name string, text []byte) (edited []byte, err error) {
	command := e.Command
	if command == "" {
		command = "vi"
	}
	words, err := shlex.Split(command)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("%w: $%s is not a command line (%q): correct it", ErrFailed, Variable, command)
	}
	dir, err := os.MkdirTemp(e.folder(), "em-infra-edit-") // 0700
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	if err := e.run(ctx, append(words, path)); err != nil {
		return nil, fmt.Errorf("%w (%s: %w): set $%s to one that works, then run this again", ErrFailed, words[0], err, Variable)
	}
	return os.ReadFile(path) //nolint:gosec // the file that was just written
}

func (e Editor) folder() string {
	if e.Folder != "" {
		return e.Folder
	}
	memory := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return "" // os.MkdirTemp takes the system's
	}
	return memory
}

// run runs the editor until it ends or is to end.
func (e Editor) run(ctx context.Context, words []string) error {
	interrupts := make(chan os.Signal, 1) // while this channel receives the signal, it does not end this process
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	command := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user's own editor
	command.Stdin, command.Stdout, command.Stderr = e.In, e.Out, e.Err
	err := command.Run()
	if ctx.Err() != nil {
		return errors.New("it was ended by a signal")
	}
	return err
}
