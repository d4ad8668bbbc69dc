package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/operator"
)

func TestCalledAs(t *testing.T) {
	folder := t.TempDir()
	installed := filepath.Join(folder, "bin", "em-infra")
	writeFile(t, installed, "#!/bin/sh\n")
	require.NoError(t, os.Chmod(installed, 0o700))
	writeFile(t, filepath.Join(folder, "em-infra"), "another build\n")
	t.Setenv("PATH", filepath.Dir(installed))
	const byGoRun = "/tmp/go-build2835131277/b001/exe/em-infra"
	for _, test := range []struct{ program, folder, name string }{
		{"em-infra", folder, "em-infra"},
		{installed, folder, "em-infra"},
		{"bin/em-infra", folder, "em-infra"},
		{"./em-infra", folder, "./em-infra"},
		{"/opt/it's/em-infra", folder, `'/opt/it'\''s/em-infra'`},
		{byGoRun, "../..", "go run ./cmd/em-infra"},
		{byGoRun, folder, "go run github.com/em-infra/em-infra/cmd/em-infra"},
		{"/home/u/.cache/go-build/12/121c92294556f76127fa1b4db6871c0f7e607e2a44c44ba03f0f56cf765ecb1a-d/em-infra", "../..", "go run ./cmd/em-infra"},
		{"/tmp/go-build2835131277/b001/em-infra.test", folder, "em-infra"},
	} {
		require.Equal(t, test.name, calledAs(test.program, test.folder), test.program)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, exitOK, exitCode(nil))
	require.Equal(t, exitFailed, exitCode(errors.New("x")))
	require.Equal(t, exitFailed, exitCode(operator.ErrNotWell))
	require.Equal(t, exitChanges, exitCode(operator.ErrChanges))
	require.Equal(t, exitRefused, exitCode(errUnsound))
	require.Equal(t, exitRefused, exitCode(refused(errors.New("x"))))
	require.NoError(t, refused(nil))

	ended := exec.Command("sh", "-c", "exit 7").Run()
	require.Error(t, ended)
	require.Equal(t, exitFailed, exitCode(fmt.Errorf("export the state: %w", ended)), "the code of another program is not ours")
	require.Equal(t, exitRefused, exitCode(refused(fmt.Errorf("the state cannot be read (%w)", ended))))
	require.Equal(t, exitRefused, exitCode(command.Refused(errors.New("x"))))
}

// engineInMidWork prints the signals that it receives, and ends after the second.
const engineInMidWork = `trap 'trap "echo twice; exit 2" INT; echo once' INT
echo working
while :; do sleep 0.02; done
`

// The test sends real signals to its own process, so it does not run beside others.
func TestInterrupts(t *testing.T) {
	cli := filepath.Join(t.TempDir(), "pulumi")
	executabletest.Script(t, cli, engineInMidWork)
	var output bytes.Buffer
	ctx, stop := withInterrupts(t.Context(), &output)
	defer stop()

	stdout, _, code, err := engine.NewCommand(cli, semver.MustParse("3.254.0")).Run(ctx, t.TempDir(), nil, []io.Writer{onLine(func(line string) {
		if line != "twice\n" {
			require.NoError(t, sendSelf(syscall.SIGINT))
		}
	})}, nil, nil)
	require.Equal(t, "working\nonce\ntwice\n", stdout)
	require.Equal(t, 2, code)
	require.ErrorIs(t, err, errInterrupted)
	require.Equal(t, "\ninterrupted: what is under way is finished first; Ctrl-C again ends it at once\n", output.String())
}

// sendSelf sends a signal to this process.
func sendSelf(which os.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(which)
}

// onLine is called for every write.
type onLine func(string)

func (f onLine) Write(text []byte) (int, error) {
	f(string(text))
	return len(text), nil
}

func TestAnInterruptIsOneSentence(t *testing.T) {
	project(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	t.Setenv(talosconfigVariable, "context: x\ncontexts: {x: {}}")
	interrupt := sync.OnceFunc(func() { _ = sendSelf(syscall.SIGTERM) })
	var errs bytes.Buffer
	out := onLine(func(string) { interrupt() }) // it says what it waits for
	code := run(ctx, streams{in: strings.NewReader(""), out: out, err: &errs}, []string{"node", "wait", "--address", "127.0.0.1"})
	require.Equal(t, exitFailed, code)
	require.Equal(t, "interrupted; the same command goes on from here\n", errs.String())
}

// TestNoLibraryWritesToTheTerminal: client-go reports a Lease that another operator has created first as an error of its own log, on the error
// stream of the process.
func TestNoLibraryWritesToTheTerminal(t *testing.T) {
	require.Zero(t, run(t.Context(), streams{in: nil, out: io.Discard, err: io.Discard}, []string{"help"}))
	require.Nil(t, klog.Background().GetSink())
}

// TestABrokenPipeIsNoEnd: a reader that has seen enough, as in `em-infra up | head`, must not end a run in the middle. Only a write to the standard
// output can end a process, so the test runs in a process of its own.
func TestABrokenPipeIsNoEnd(t *testing.T) {
	const inside = "EM_INFRA_TEST_BROKEN_PIPE"
	if os.Getenv(inside) != "" {
		withInterrupts(t.Context(), io.Discard)
		_, err := os.Stdout.WriteString("x")
		fmt.Fprint(os.Stderr, err)
		os.Exit(exitChanges) // at once: the test's own report would go to the pipe, too
	}
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer writer.Close()
	var errs bytes.Buffer
	process := exec.Command("/proc/self/exe", "-test.run=^TestABrokenPipeIsNoEnd$")
	process.Env = append(os.Environ(), inside+"=yes")
	process.Stdout, process.Stderr = writer, &errs
	require.EqualError(t, process.Run(), "exit status 2")
	require.Equal(t, "write /dev/stdout: broken pipe", errs.String())
}
