package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
)

func TestPrintFailure(t *testing.T) {
	t.Parallel()
	causes := []operator.Cause{{Failure: operator.Failure{Text: "exit status 255"}}}
	for _, test := range []struct {
		failure operator.FailedError
		out     string
	}{
		{
			operator.FailedError{Operation: "up", Again: "up --stack k3s-dev", Causes: causes},
			"\nfailed\n  exit status 255\n\nup failed. What was done is in the state, so it is safe to run again: em-infra up --stack k3s-dev\n",
		},
		{
			operator.FailedError{Operation: "up", Again: "up --stack k3s-dev --lab", Interrupted: true},
			"\ninterrupted; the state is saved and says what exists. Go on with: em-infra up --stack k3s-dev --lab\n",
		},
		{
			operator.FailedError{
				Operation: "up", Again: "up --stack site-systems", Interrupted: true,
				WaysBack: []string{"tools: `qm rollback 210 em-infra-20261126-100000` on vmhost", "pihole: `pct rollback 211 em-infra-20261126-100001` on vmhost"},
			},
			"\ninterrupted; the state is saved and says what exists. Go on with: em-infra up --stack site-systems\n" +
				"or go back to how a system was before this run, without what was written on its disks since, and put systems.yaml back:\n" +
				"  tools: `qm rollback 210 em-infra-20261126-100000` on vmhost\n  pihole: `pct rollback 211 em-infra-20261126-100001` on vmhost\n",
		},
		{
			operator.FailedError{Operation: "up", Again: "up --stack k3s-dev", Causes: causes, Interrupted: true},
			"\nfailed\n  exit status 255\n\ninterrupted; not everything that was under way ended well. Go on with: em-infra up --stack k3s-dev\n",
		},
		{
			operator.FailedError{Operation: "preview", Again: "preview --stack k3s-dev", Interrupted: true},
			"\ninterrupted; nothing was changed. Go on with: em-infra preview --stack k3s-dev\n",
		},
	} {
		var out bytes.Buffer
		printFailure(&out, &test.failure)
		require.Equal(t, test.out, out.String())
		require.Empty(t, errorText(&test.failure), "it is printed already")
		require.Equal(t, exitFailed, exitCode(&test.failure))
	}
}

func TestErrorsBesideAFailureArePrinted(t *testing.T) {
	t.Parallel()
	failure := &operator.FailedError{Operation: "up"}
	lost := errors.New("the state cannot be read")
	both := errors.Join(lost, failure)
	require.Equal(t, "the state cannot be read", errorText(both))
	require.Same(t, failure, failureIn(both))
	wrapped := fmt.Errorf("what they were made with is not known: %w", failure)
	require.Equal(t, "what they were made with is not known: up failed", errorText(wrapped))
	require.Equal(t, "one\nanother", errorText(errors.Join(errors.New("one"), errors.New("another"))))
	require.Nil(t, failureIn(lost))
}

// TestAnswers: the question comes after an empty line, with what the person has to know.
func TestAnswers(t *testing.T) {
	t.Parallel()
	question := operator.Question{Text: "Type the name of the stack, k3s-dev, to bring it up: ", Yes: "k3s-dev"}
	for _, test := range []struct {
		name, answer string
		yes          bool
	}{
		{"the stack's name", "k3s-dev\n", true},
		{"the stack's name, and then the end", " k3s-dev", true},
		{"yes", "yes\n", false},
		{"an empty line", "\n", false},
		{"Ctrl-D", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			yes, err := person{streams{in: strings.NewReader(test.answer), out: &out}}.Confirm(t.Context(), question)
			require.NoError(t, err)
			require.Equal(t, test.yes, yes)
			require.Equal(t, "\n"+question.Text, out.String())
		})
	}
	var out bytes.Buffer
	_, err := person{streams{in: strings.NewReader(""), out: &out}}.Confirm(t.Context(), operator.Question{About: "a task hangs", Text: "Type stop: "})
	require.NoError(t, err)
	require.Equal(t, "\na task hangs\nType stop: ", out.String())
}

// TestAnInterruptKeepsWhatAPersonHasToDo, and nothing of the error that follows from it.
func TestAnInterruptKeepsWhatAPersonHasToDo(t *testing.T) {
	t.Parallel()
	const (
		sentence  = "interrupted; the same command goes on from here"
		cordoned  = "worker-1 takes no new pods (no API server answers): run `kubectl uncordon worker-1`"
		unsaved   = "there is no backup of what this run has changed (no space left on device): mend that, then run `em-infra state backup`"
		unwritten = "the state is written, but what belongs to it is not (no space left on device): mend that, then run `em-infra up`"
	)
	canceled := fmt.Errorf("worker-2 is untouched: %w: see `em-infra status`", context.Canceled)
	failure := &operator.FailedError{Operation: "up", Interrupted: true}
	for name, test := range map[string]struct {
		command string
		err     error
		want    string
	}{
		"the interrupt":                 {"up", canceled, sentence},
		"of the Talos API":              {"up", fmt.Errorf("see `em-infra status`: %w", status.Error(codes.Canceled, "the call ended")), sentence},
		"of another program":            {"up", errors.New("git: context canceled: run `em-infra tools install`"), sentence},
		"to run it again":               {"up", errors.New("it does not answer: run `em-infra up --stack k3s-dev` again"), sentence},
		"kubectl":                       {"up", fmt.Errorf("%w\n%s", context.Canceled, cordoned), cordoned + "\n" + sentence},
		"another command":               {"up", errors.Join(failure, errors.New(unsaved)), unsaved},
		"another command, alone":        {"adopt", errors.New(unwritten), unwritten + "\n" + sentence},
		"the same one, of another verb": {"up", errors.New(unwritten), sentence},
		"beside a failure":              {"up", errors.Join(canceled, failure, errors.New("no space left on device")), "no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, interruptedText(found(t, test.command), test.err))
		})
	}
	for _, path := range [][]string{{"reboot"}, {"node", "rollback"}} {
		command := found(t, path...)
		require.NotEmpty(t, afterInterrupt[command.Name()])
		require.Equal(t, afterInterrupt[command.Name()], interruptedText(command, context.Canceled), "it does not go on from there")
	}
}

// found returns a command of em-infra.
func found(t *testing.T, path ...string) *cobra.Command {
	t.Helper()
	command, _, err := newRootCommand().Find(path)
	require.NoError(t, err)
	require.Equal(t, path[len(path)-1], command.Name())
	return command
}

func TestAnAnswerIsInterrupted(t *testing.T) {
	t.Parallel()
	silent, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	_, err := person{streams{in: silent, out: io.Discard}}.Confirm(ctx, operator.Question{})
	require.ErrorIs(t, err, errInterrupted)
}

// TestPrintFailureExplains: the end of a failed run explains its causes.
func TestPrintFailureExplains(t *testing.T) {
	t.Parallel()
	known := operator.Failure{Phase: phase.Provision, Name: "k3s-dev-worker-1-vm", Text: "received an HTTP 500 response - Reason: " + lockError}
	unknown := operator.Failure{Phase: phase.Bootstrap, Name: "k3s-dev-bootstrap", Text: "something nobody\nhas seen yet"}
	var out bytes.Buffer
	printFailure(&out, &operator.FailedError{Operation: "destroy", Again: "destroy --stack k3s-dev --lab", Causes: []operator.Cause{
		{Failure: known, Explanations: operator.Explain(known.Text), Alike: []string{"k3s-dev-worker-2-vm"}}, {Failure: unknown},
	}})
	require.Equal(t, `
failed in provision: k3s-dev-worker-1-vm
  Proxmox:       can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout
  meaning        another task holds VM 102, or held it when the host went down
  do             `+"`qm unlock 102`"+` on its host if no task is running there (`+"`pvesh get /nodes/HOST/tasks --source active`"+`), then run `+"`em-infra up` again"+`
  safe           yes: nothing was left half done; up goes on from here
  1 more failed in the same way: k3s-dev-worker-2-vm

failed in bootstrap: k3s-dev-bootstrap
  something nobody
  has seen yet

destroy failed. What was done is in the state, so it is safe to run again: em-infra destroy --stack k3s-dev --lab
`, out.String())
}

// TestThePassphraseThatIsUsedNext: a variable with the passphrase would take precedence over the one with the file, which is named so that it
// is found from any folder.
func TestThePassphraseThatIsUsedNext(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	export := "run   export PULUMI_CONFIG_PASSPHRASE_FILE='" + filepath.Join(dir, "a file") + "'\n"
	t.Setenv(passphraseVariable, rand.Text())
	var out bytes.Buffer
	printPassphrase(&out, "a file")
	require.Equal(t, "run   unset PULUMI_CONFIG_PASSPHRASE\n"+export, out.String())
	require.NoError(t, os.Unsetenv(passphraseVariable))
	out.Reset()
	printPassphrase(&out, "a file")
	require.Equal(t, export, out.String())
}
