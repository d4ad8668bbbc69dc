package labstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/repositorytest"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// Workshop is a folder for the duration of a test run, in which the tool is built. Its labs end with it.
type Workshop struct {
	// Dir is the folder.
	Dir string

	lifeline *os.File
	build    sync.Once
	tool     string
	err      error
	tools    sync.Once
	toolsErr error
}

// Open creates a workshop. The labs that this process starts from now on end with it.
func Open() (*Workshop, error) {
	dir, err := os.MkdirTemp("", "em-infra-tests-")
	if err != nil {
		return nil, err
	}
	w := &Workshop{Dir: dir}
	if w.lifeline, _, err = Hold(filepath.Join(dir, "lifeline")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Setenv(lab.LifelineVariable, w.lifeline.Name()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close removes the folder and ends the labs.
func (w *Workshop) Close() error { return errors.Join(w.lifeline.Close(), os.RemoveAll(w.Dir)) }

// ToolVariable is the environment variable with the path of a built em-infra.
const ToolVariable = "EM_INFRA_TEST_TOOL"

// Tool returns the em-infra under test, built once. The result of the test depends on all sources from now on.
func (w *Workshop) Tool() (string, error) {
	w.build.Do(func() {
		if w.err = repositorytest.DependOnSources(); w.err != nil {
			return
		}
		if w.tool = os.Getenv(ToolVariable); w.tool != "" {
			return
		}
		w.tool = filepath.Join(w.Dir, "em-infra")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.tool, "github.com/em-infra/em-infra/cmd/em-infra")
		if output, err := build.CombinedOutput(); err != nil {
			w.err = fmt.Errorf("build em-infra: %w\n%s", err, output)
		}
	})
	return w.tool, w.err
}

// BuildTools builds the tools of a rehearsal that are not in the cache yet, from a checkout, once. For a project in another folder em-infra can only
// download them.
func (w *Workshop) BuildTools(checkout string) error {
	w.tools.Do(func() {
		_, w.toolsErr = toolchain.Install(context.Background(), toolchain.Options{Source: checkout, Rehearsal: true})
	})
	return w.toolsErr
}

// Hold locks a file until it is closed; held is false if another process has the lock.
func Hold(path string) (file *os.File, held bool, err error) {
	if file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, false, err
	}
	lock := &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, false, file.Close()
	}
	return file, err == nil, err
}

// ClaimNumber finds the first number that no other test run in this checkout uses for stacks of a name. It is claimed until the
// file is closed.
func ClaimNumber(root, name string) (number int, claim *os.File, err error) {
	labs := filepath.Join(root, ".lab")
	if err := MakeFolder(labs); err != nil {
		return 0, nil, err
	}
	for number = 1; ; number++ {
		file, held, err := Hold(filepath.Join(labs, fmt.Sprintf("%s-%d.lock", name, number)))
		if err != nil || held {
			return number, file, err
		}
	}
}
