package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/process"
)

// ErrNoGo means that there is no go command to build with.
var ErrNoGo = errors.New("go is not on PATH: install Go 1.26 or later (https://go.dev/dl) and run this again")

// goCommand is the go command with the environment of every build.
type goCommand struct {
	path    string
	environ []string

	buildCache, moduleCache string // GOCACHE and GOMODCACHE
}

// newGoCommand finds the go command. The builds use only two of the user's settings: the paths of Go's caches and the module proxy.
// They use no workspace and no C compiler, do not change go.mod or go.sum, and are for this machine.
func (in *installer) newGoCommand(ctx context.Context) (goCommand, error) {
	path, err := in.seams.lookPath("go")
	if err != nil {
		return goCommand{}, ErrNoGo
	}
	g := goCommand{path: path, environ: append(in.seams.environ(),
		"GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)}

	cmd := process.KillTreeOnCancel(exec.CommandContext(ctx, g.path, "env", "-json", "GOCACHE", "GOMODCACHE"))
	cmd.Env = g.environ
	out, err := cmd.Output()
	if err != nil {
		return goCommand{}, fmt.Errorf("ask go for its caches: %w", err)
	}
	var found struct{ GOCACHE, GOMODCACHE string }
	if err := json.Unmarshal(out, &found); err != nil {
		return goCommand{}, fmt.Errorf("ask go for its caches: %w", err)
	}
	g.buildCache, g.moduleCache = found.GOCACHE, found.GOMODCACHE
	return g, nil
}

// goError is the error of a failed build, with the output and the error of the go command.
type goError struct {
	output string
	err    error
}

func (e *goError) Error() string { return e.err.Error() }
func (e *goError) Unwrap() error { return e.err }

// build builds a tool into partial/bin. It passes go's output, which names the modules that it downloads, to note. Go's temporary
// files are in partial, too, so that a killed build leaves nothing in other folders.
func (g goCommand) build(ctx context.Context, w *wanted, module, partial string, note func(string)) error {
	work := filepath.Join(partial, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	target := filepath.Join(partial, "bin", w.executable())
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", w.ldflags(), "-o", target}
	if w.modFile != "" {
		args = append(args, "-modfile", w.modFile)
	}
	cmd := process.KillTreeOnCancel(exec.CommandContext(ctx, g.path, append(args, w.main)...))
	cmd.Dir = module
	cmd.Env = slices.Concat(g.environ, []string{"GOTMPDIR=" + work})
	output := &tail{each: note}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return &goError{output: output.String(), err: err}
	}
	return os.RemoveAll(work)
}

// executable returns the name of a tool's file on this system.
func (s spec) executable() string { return s.executableOn(runtime.GOOS) }

// executableOn returns the name of a tool's file on a system, as Go names it. On Windows only files that end in .exe are run.
func (s spec) executableOn(system string) string {
	name := s.name
	switch s.kind {
	case Plugin:
		name = "pulumi-resource-" + s.name
	case LanguageHost:
		name = "pulumi-" + s.name
	}
	if system == "windows" {
		name += ".exe"
	}
	return name
}

// downloading is the start of the lines in which the go command names a module that it downloads.
const downloading = "go: downloading "

// tail is a writer that keeps the end of its input. It passes each line to each.
type tail struct {
	each func(line string)
	kept []byte
	line []byte
}

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailSize; extra > 0 {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
	t.line = append(t.line, p...)
	for {
		line, rest, found := bytes.Cut(t.line, []byte("\n"))
		if !found {
			return len(p), nil
		}
		t.each(string(line))
		t.line = rest
	}
}

func (t *tail) String() string { return strings.TrimRight(string(t.kept), "\n") }
