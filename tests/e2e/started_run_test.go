package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runBound is the longest that a command may take: the first one may build the tool chain, and a wait for a task has twenty minutes.
const runBound = 40 * time.Minute

// transcript is what a command has written, which can be read while it goes on.
type transcript struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (t *transcript) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.text.Write(text)
}

func (t *transcript) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.text.String()
}

// started is a command of em-infra's on the rehearsal's stack that goes on.
type started struct {
	t       testing.TB
	args    []string
	command *exec.Cmd
	began   time.Time
	written *transcript
	// ended is closed when it has ended; err is how.
	ended chan struct{}
	err   error
}

// start starts a command of em-infra's on the rehearsal's stack; wait has to be called.
func (r *rehearsal) start(args ...string) *started {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), runBound)
	s := &started{t: r.t, args: args, began: time.Now(), written: &transcript{}, ended: make(chan struct{})}
	s.command = r.command(ctx, append(args, "--stack", r.stack, "--inventory", r.inventory)...)
	s.command.Stdout, s.command.Stderr = s.written, s.written
	require.NoError(r.t, s.command.Start())
	go func() {
		defer cancel()
		defer close(s.ended)
		s.err = s.command.Wait()
	}()
	return s
}

// output returns what it has written by now.
func (s *started) output() string { return s.written.String() }

// wait waits for its end.
func (s *started) wait() result {
	s.t.Helper()
	<-s.ended
	var exit *exec.ExitError
	if s.err != nil && !errors.As(s.err, &exit) {
		require.NoError(s.t, s.err)
	}
	code := s.command.ProcessState.ExitCode()
	s.t.Logf("em-infra %s: exit code %d after %s", strings.Join(s.args, " "), code, time.Since(s.began).Round(100*time.Millisecond))
	return result{code: code, output: s.output()}
}
