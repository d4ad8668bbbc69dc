package lives_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/model"
)

// running is a command that was begun.
type running struct {
	*life
	what    string
	command *exec.Cmd
	output  bytes.Buffer
	began   time.Time
	calls   int // of the host, before
	nas     int // calls of the NAS, before
}

func (f *life) started(what string, command *exec.Cmd) *running {
	f.t.Helper()
	r := &running{life: f, what: what, command: command, began: time.Now(), calls: len(f.calls()), nas: len(f.nasCalls())}
	command.Stdout, command.Stderr = &r.output, &r.output
	require.NoError(f.t, command.Start())
	return r
}

// wait waits for its end, and reads its events meanwhile.
func (r *running) wait(look func()) model.Run {
	r.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- r.command.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ticks := 0; ; ticks++ {
		select {
		case err := <-ended:
			return r.ended(err)
		case <-tick.C:
			if time.Since(r.began) > model.Bound+time.Minute {
				if err := r.command.Process.Kill(); !errors.Is(err, os.ErrProcessDone) { // it may have ended by itself meanwhile
					require.NoError(r.t, err)
				}
			}
			if look != nil {
				look()
			}
			if ticks%ticksOfArguments == 0 {
				r.readArguments()
			}
			if ticks%ticksOfGuarded == 0 {
				r.keepGuarded()
			}
		}
	}
}

// ticksOfGuarded is how many lie between two tries to create or remove the guarded Deployment, if that is due.
const ticksOfGuarded = 100

// ticksOfArguments is how many ticks lie between two readings of the arguments of processes, which cost more than the rest.
const ticksOfArguments = 20

// readArguments keeps the arguments of the run's processes, which every user of the machine can read.
func (r *running) readArguments() {
	r.t.Helper()
	lines, err := labstack.Arguments(r.command.Process.Pid)
	require.NoError(r.t, err)
	for _, line := range lines {
		if !strings.Contains(r.texts[argumentsOfProcesses], line+"\n") {
			r.texts[argumentsOfProcesses] += line + "\n"
		}
	}
}

// argumentsOfProcesses is the name of that text.
const argumentsOfProcesses = "arguments-of-processes"

func (r *running) ended(err error) model.Run {
	r.t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(r.t, err)
	}
	took := time.Since(r.began)
	code := r.command.ProcessState.ExitCode()
	r.say("  %s: exit code %d after %s", r.what, code, took.Round(100*time.Millisecond))
	r.texts[fmt.Sprintf("output-%02d-%s", len(r.log), r.what)] = r.output.String()
	writes := append(labstack.Writes(r.life.calls()[r.calls:]), labstack.NASWrites(r.nasCalls()[r.nas:])...)
	return model.Run{What: r.what, Code: code, Output: r.output.String(), Writes: writes, Took: took}
}

// calls returns what the host was asked for so far.
func (f *life) calls() []labstack.Call {
	f.t.Helper()
	calls, err := labstack.Calls(f.lane.labDir())
	require.NoError(f.t, err)
	return calls
}

// nasCalls returns the methods that the NAS was called with so far.
func (f *life) nasCalls() []string {
	f.t.Helper()
	methods, err := labstack.NASCalls(f.lane.labDir())
	require.NoError(f.t, err)
	return methods
}
