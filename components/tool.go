package components

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// ToolRun is a run of em-infra by the program, in a process of its own.
type ToolRun struct {
	// Command is the command of em-infra, e.g. "secrets reveal". Required.
	Command string
	// Arguments follow it, as a shell reads them. Default: none.
	Arguments string
	// Value is "$0" in the arguments. Default: empty.
	Value string
	// Dir is the folder that it runs in: one of this module, or any if EM_INFRA is set. Default: that of this process.
	Dir string
	// Env is added to the environment of this process, which is not visible in the list of processes. Default: none.
	Env map[string]string
	// Stdout receives its output. Default: none.
	Stdout io.Writer
}

// goodbye is how long an interrupted run may take to end.
const goodbye = 10 * time.Second

// Do runs it. If ctx ends, the run is interrupted. The error is what the tool reports.
func (r ToolRun) Do(ctx context.Context) error {
	command := exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+Tool+" "+r.Command+" "+r.Arguments, r.Value) //nolint:gosec // the program's own texts
	command.Cancel, command.WaitDelay = func() error { return command.Process.Signal(os.Interrupt) }, goodbye
	var stderr bytes.Buffer
	command.Dir, command.Stdout, command.Stderr, command.Env = r.Dir, r.Stdout, &stderr, os.Environ()
	for name, value := range r.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	err := command.Run()
	if err == nil {
		return nil
	}
	if message := strings.TrimSpace(exitLine.ReplaceAllString(stderr.String(), "")); message != "" {
		return errors.New(message)
	}
	return fmt.Errorf("em-infra %s: %w: see that em-infra can be built here", r.Command, err)
}

// exitLine is the line that `go run` adds to the output of its program.
var exitLine = regexp.MustCompile(`(?m)^exit status \d+$`)

// lineWriter passes on each whole line that is written, without its end.
type lineWriter struct {
	each func(line string)
	rest []byte
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		w.each(string(line))
		w.rest = rest
	}
}
