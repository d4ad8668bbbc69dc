package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	provider "github.com/pulumi/pulumi-go-provider"
)

// run runs a command and returns its results. If the command fails, the error contains the exit status, the command and its output,
// and the results are the previous ones.
func run(ctx context.Context, command string, in CommandInputs, previous Results) (Results, error) {
	dir, err := workDir(in)
	if err != nil {
		return previous, fmt.Errorf("%w: running %q", err, command)
	}
	var stdout, stderr bytes.Buffer
	both := &lockedWriter{w: &bytes.Buffer{}}
	shown := []*lines{}
	show := func(wanted bool) io.Writer {
		if !wanted {
			return io.Discard
		}
		l := &lines{emit: provider.GetLogger(ctx).InfoStatus}
		shown = append(shown, l)
		return l
	}

	cmd := newCmd(ctx, command, in, previous)
	cmd.Dir = dir
	cmd.Stdout = io.MultiWriter(&stdout, both, show(in.Logging.stdout()))
	cmd.Stderr = io.MultiWriter(&stderr, both, show(in.Logging.stderr()))
	err = cmd.Run()
	for _, l := range shown {
		l.flush()
	}
	if err != nil {
		return previous, fmt.Errorf("%w: running %q:\n%s", err, command, both.w)
	}

	results := Results{
		Stdout: strings.TrimSuffix(stdout.String(), "\n"),
		Stderr: strings.TrimSuffix(stderr.String(), "\n"),
		Assets: previous.Assets, Archive: previous.Archive,
	}
	return results, collect(dir, in, &results)
}

// workDir returns the folder in which the command runs. It checks that the folder exists. Without that check, the start of a
// process with a group of its own would fail as if the interpreter were missing.
func workDir(in CommandInputs) (string, error) {
	if in.Dir == nil {
		return os.Getwd()
	}
	if _, err := os.Stat(*in.Dir); err != nil {
		return "", &fs.PathError{Op: "chdir", Path: *in.Dir, Err: errors.Unwrap(err)}
	}
	return *in.Dir, nil
}

// newCmd returns a command whose process leads a group of its own. The group is killed when the context ends. If only the
// interpreter were killed, the processes that it started would remain.
func newCmd(ctx context.Context, command string, in CommandInputs, previous Results) *exec.Cmd {
	argv := interpreter()
	if in.Interpreter != nil && len(*in.Interpreter) > 0 {
		argv = slices.Clone(*in.Interpreter)
	}
	argv = append(argv, command)

	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environment(in, previous)
	if in.Stdin != nil {
		cmd.Stdin = strings.NewReader(*in.Stdin)
	}
	lead(cmd)
	return cmd
}

func environment(in CommandInputs, previous Results) []string {
	env := os.Environ()
	if in.Environment != nil {
		for _, name := range slices.Sorted(maps.Keys(*in.Environment)) {
			env = append(env, name+"="+(*in.Environment)[name])
		}
	}
	if in.AddPreviousOutputInEnv != nil && !*in.AddPreviousOutputInEnv {
		return env
	}
	if previous.Stdout != "" {
		env = append(env, "PULUMI_COMMAND_STDOUT="+previous.Stdout)
	}
	if previous.Stderr != "" {
		env = append(env, "PULUMI_COMMAND_STDERR="+previous.Stderr)
	}
	return env
}

// lockedWriter lets the goroutines that copy stdout and stderr share one buffer.
type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
