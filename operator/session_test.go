package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/stacks"
)

// recordedEvents are the events of an operation.
type recordedEvents []operator.Event

func (r *recordedEvents) Handle(event operator.Event) { *r = append(*r, event) }

// personWho answers each question.
type personWho struct {
	answers   string
	questions []operator.Question
}

func (p *personWho) Confirm(ctx context.Context, question operator.Question) (bool, error) {
	p.questions = append(p.questions, question)
	return p.answers == question.Yes, context.Cause(ctx)
}

// testSession is a session and the paths that it works on.
type testSession struct {
	*operator.Session

	workspace *workspace.Workspace
}

// sessionWith returns a session that is ready to ask for consent.
func sessionWith(t *testing.T, person operator.Person, rehearsed bool) (*testSession, *recordedEvents) {
	t.Helper()
	return sessionOf(t, operator.Options{Stack: "k3s-dev", Person: person}, rehearsed, time.Now)
}

func sessionOf(t *testing.T, options operator.Options, rehearsed bool, now func() time.Time) (*testSession, *recordedEvents) {
	t.Helper()
	inv, err := inventory.Load("../stacks/k3s-dev")
	require.NoError(t, err)
	recorded := new(recordedEvents)
	work := &workspace.Workspace{Stack: "k3s-dev", Credentials: t.TempDir(), Rehearsed: rehearsed}
	return &testSession{Session: operator.In(options, work, recorded, now).Session("bring it up", inv), workspace: work}, recorded
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ answer, err string }{
		{"k3s-dev", ""},
		{"yes", "not confirmed; nothing was touched"},
		{"", "not confirmed; nothing was touched"},
	} {
		person := &personWho{answers: test.answer}
		s, _ := sessionWith(t, person, false)
		err := s.Ask(t.Context())
		require.Equal(t, []operator.Question{{Text: "Type the name of the stack, k3s-dev, to bring it up: ", Yes: "k3s-dev"}}, person.questions)
		if test.err == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.err)
		require.ErrorAs(t, err, new(*operator.RefusedError))
	}
}

// TestASecondQuestionThatIsDeclined: what was agreed to before is done.
func TestASecondQuestionThatIsDeclined(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, &personWho{answers: "no"}, false)
	require.EqualError(t, s.AskAgain(t.Context()), "not confirmed; nothing more was touched: run up again to go on")
}

func TestAMachineThatWasStartedIsNotUntouched(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nothing was touched but the machines that were started", operator.Untouched(true))
	require.Equal(t, "nothing was touched", operator.Untouched(false))
}

func TestNobodyIsAskedWhoHasAgreed(t *testing.T) {
	t.Parallel()
	person := &personWho{}
	s, _ := sessionOf(t, operator.Options{Stack: "k3s-dev", Person: person, Yes: true}, false, time.Now)
	require.NoError(t, s.Ask(t.Context()))
	require.Empty(t, person.questions)
}

func TestAskIsInterrupted(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, &personWho{}, false)
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	err := s.Ask(ctx)
	require.ErrorIs(t, err, interrupted)
	require.ErrorAs(t, err, new(*operator.RefusedError), "nothing was touched")
}

func TestFailedSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	causes := []operator.Cause{{Failure: progress.Failure{Text: "exit status 255"}}}
	for name, test := range map[string]struct {
		ctx       context.Context
		rehearsed bool
		want      operator.FailedError
		text      string
	}{
		"failed":      {t.Context(), false, operator.FailedError{Operation: "up", Again: "up --stack k3s-dev", Causes: causes}, "up failed\nexit status 255"},
		"in the lab":  {t.Context(), true, operator.FailedError{Operation: "up", Again: "up --stack k3s-dev --lab", Causes: causes}, "up failed\nexit status 255"},
		"interrupted": {interrupted, true, operator.FailedError{Operation: "up", Again: "up --stack k3s-dev --lab", Interrupted: true}, "up was interrupted; the state is saved and says what exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, recorded := sessionWith(t, nil, test.rehearsed)
			err := s.Failed(test.ctx, operator.OpUp, errors.New("exit status 255"))
			require.Equal(t, &test.want, err)
			require.EqualError(t, err, test.text)
			require.Empty(t, *recorded, "the error carries it")
		})
	}
}

// TestAnInterruptClaimsOnlyWhatIsKnown: the state may not be saved if something that was under way failed.
func TestAnInterruptClaimsOnlyWhatIsKnown(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		operation string
		failures  []progress.Failure
		text      string
	}{
		{operator.OpUp, []progress.Failure{{Text: "update canceled"}}, "up was interrupted; the state is saved and says what exists"},
		{operator.OpDestroy, nil, "destroy was interrupted; the state is saved and says what exists"},
		{operator.OpUp, []progress.Failure{{Text: "failed to save snapshot: 503"}, {Text: "update canceled"}}, "up was interrupted; not everything that was under way ended well\nfailed to save snapshot: 503"},
		{operator.OpPreview, nil, "preview was interrupted; nothing was changed"},
		{operator.OpAdopt, nil, "adopt was interrupted; nothing was changed"},
	} {
		s, _ := sessionWith(t, nil, false)
		s.WithFailures(test.failures)
		require.EqualError(t, s.Failed(interrupted, test.operation, errors.New("exit status 255")), test.text)
	}
}

// TestErrorsBesideTheEngineAreKept: those of the artifacts of a run, and of the plugins that were to end with it.
func TestErrorsBesideTheEngineAreKept(t *testing.T) {
	t.Parallel()
	engine, plugins, disk := errors.New("exit status 255"), errors.New("process 7 does not end"), errors.New("no space left on device")
	s, _ := sessionWith(t, nil, false)
	err := s.Failed(t.Context(), operator.OpUp, operator.WithBeside(operator.WithBeside(engine, plugins), disk))
	require.EqualError(t, err, "up failed\nexit status 255\nprocess 7 does not end\nno space left on device")
	require.ErrorAs(t, err, new(*operator.FailedError))
	require.Equal(t, disk, operator.WithBeside(nil, disk))
	require.NoError(t, operator.WithBeside(nil, nil))
}

func TestCredentialFilesAreForTheirOwner(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, true)
	require.NoError(t, s.WriteCredentials(stacks.Outputs{Kubeconfig: "made up kubeconfig", Talosconfig: "made up talosconfig"}))
	dir := s.workspace.Credentials
	for _, name := range []string{"kubeconfig", "talosconfig"} {
		file, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), file.Mode())
	}

	require.NoError(t, s.ForgottenCredentials())
	require.NoError(t, s.ForgottenCredentials(), "what is gone is forgotten")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPlaceIsWhatWasTyped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		inventory string
		rehearsed bool
		place     string
	}{
		{"", false, "--stack k3s-dev"},
		{"stacks/k3s-dev", true, "--stack k3s-dev --inventory stacks/k3s-dev --lab"},
		{"my inventory", false, "--stack k3s-dev --inventory 'my inventory'"},
	} {
		o := operator.In(operator.Options{Inventory: test.inventory}, &workspace.Workspace{Stack: "k3s-dev", Rehearsed: test.rehearsed}, nil, time.Now)
		require.Equal(t, test.place, o.Place())
	}
}

func TestHasChanges(t *testing.T) {
	t.Parallel()
	require.False(t, operator.HasChanges(nil))
	require.False(t, operator.HasChanges(map[apitype.OpType]int{apitype.OpSame: 9, apitype.OpRead: 1, apitype.OpUpdate: 0}))
	require.True(t, operator.HasChanges(map[apitype.OpType]int{apitype.OpSame: 9, apitype.OpDelete: 1}))
}
