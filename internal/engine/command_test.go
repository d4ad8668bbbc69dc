package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

func TestRunTellsTheCLIWhatItNeeds(t *testing.T) {
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "of another stack")
	t.Setenv("PULUMI_BACKEND_URL", "s3://somewhere")
	dir := t.TempDir()
	env := append(role("report"), "PULUMI_BACKEND_URL=file:///state", "PULUMI_CONFIG_PASSPHRASE_FILE=/passphrase")

	var out, errs bytes.Buffer
	stdout, stderr, code, err := cli(t).Run(t.Context(), dir, strings.NewReader("state"), []io.Writer{&out}, []io.Writer{&errs}, env, "stack", "ls")
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, out.String(), stdout)
	require.Equal(t, "warning: none\n", stderr)
	require.Equal(t, stderr, errs.String())

	var seen call
	require.NoError(t, json.Unmarshal([]byte(stdout), &seen))
	require.Equal(t, []string{"--non-interactive", "stack", "ls"}, seen.Args)
	require.Equal(t, dir, seen.Dir)
	require.Equal(t, "state", seen.Stdin)
	require.Equal(t, seen.PID, seen.Group, "a process group of its own")
	require.Contains(t, seen.Env, "PULUMI_AUTOMATION_API=true")
	require.Contains(t, seen.Env, "PULUMI_BACKEND_URL=file:///state")
	require.NotContains(t, seen.Env, "PULUMI_BACKEND_URL=s3://somewhere")
	require.Contains(t, seen.Env, "PULUMI_CONFIG_PASSPHRASE_FILE=/passphrase")
	require.NotContains(t, strings.Join(seen.Env, "\n"), "of another stack", "the file that was named counts")
	require.Contains(t, strings.Join(seen.Env, "\n"), "\nPATH="+filepath.Dir(self(t))+":", "plugins find this CLI")
}

// TestAPassphraseFileIsWhereTheUserIs: its name may be relative, and the CLI runs in another folder than this process.
func TestAPassphraseFileIsWhereTheUserIs(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	require.NoError(t, os.WriteFile("secret", []byte("open sesame\n"), 0o600))
	t.Setenv("PULUMI_CONFIG_PASSPHRASE_FILE", "secret")
	require.Equal(t, "open sesame", engine.PassphraseIn(nil).Text())
	stdout, _, _, err := cli(t).Run(t.Context(), t.TempDir(), nil, nil, nil, role("report"))
	require.NoError(t, err)
	var seen call
	require.NoError(t, json.Unmarshal([]byte(stdout), &seen))
	require.Contains(t, seen.Env, "PULUMI_CONFIG_PASSPHRASE_FILE="+filepath.Join(here, "secret"))
}

func TestRunLeavesThePassphraseOfTheShell(t *testing.T) {
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "")
	stdout, _, _, err := cli(t).Run(t.Context(), t.TempDir(), nil, nil, nil, role("report"))
	require.NoError(t, err)
	require.Contains(t, stdout, `"PULUMI_CONFIG_PASSPHRASE="`)
}

// TestRunNamesAUser: in a container a user may have no name, and the CLI takes it from the environment.
func TestRunNamesAUser(t *testing.T) {
	for _, test := range []struct {
		name, user, want string
		unset            bool
	}{
		{"of the shell", "alice", "USER=alice", false},
		{"that the shell does not name", "", fmt.Sprintf("USER=%d", os.Getuid()), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("USER", test.user)
			if test.unset {
				require.NoError(t, os.Unsetenv("USER"))
			}
			stdout, _, _, err := cli(t).Run(t.Context(), t.TempDir(), nil, nil, nil, role("report"))
			require.NoError(t, err)
			var seen call
			require.NoError(t, json.Unmarshal([]byte(stdout), &seen))
			require.Contains(t, seen.Env, test.want)
		})
	}
}

func TestRunReturnsTheExitCode(t *testing.T) {
	t.Parallel()
	_, stderr, code, err := cli(t).Run(t.Context(), t.TempDir(), nil, nil, nil, role("failing"))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, code)
	require.Equal(t, "error: no such stack\n", stderr)
}

func TestRunSaysWhyThereIsNoCLI(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pulumi")
	var errs bytes.Buffer
	_, stderr, code, err := engine.NewCommand(path, semver.MustParse("3.254.0")).Run(t.Context(), t.TempDir(), nil, nil, []io.Writer{&errs}, nil)
	require.EqualError(t, err, "fork/exec "+path+": no such file or directory")
	require.Equal(t, -1, code)
	require.Equal(t, "error: fork/exec "+path+": no such file or directory\n", stderr)
	require.Equal(t, stderr, errs.String())
}

// errCtrlC is why a context of these tests ends.
var errCtrlC = errors.New("interrupted by the user")

func TestRunInterruptsOnceAndWaits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out, printed := lines(t)
	go func() {
		if <-printed == "working" {
			cancel(errCtrlC)
		}
	}()

	stdout, _, code, err := cli(t).Run(ctx, t.TempDir(), nil, []io.Writer{out}, nil, role("patient"))
	require.ErrorIs(t, err, errCtrlC)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, "working\ninterrupt\nsaved\n", stdout, "one interrupt, and time to save")
	require.Equal(t, 1, code)
}

func TestRunInterruptsAgainOnTermination(t *testing.T) {
	t.Parallel()
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(engine.WithTermination(t.Context(), hurry))
	defer cancel(nil)
	out, printed := lines(t)
	go func() {
		for line := range printed {
			switch line {
			case "working":
				cancel(errCtrlC)
			case "interrupt":
				close(hurry)
			}
		}
	}()

	stdout, _, code, err := cli(t).Run(ctx, t.TempDir(), nil, []io.Writer{out}, nil, role("stubborn"))
	require.ErrorIs(t, err, errCtrlC)
	require.Equal(t, "working\ninterrupt\ninterrupt again\n", stdout)
	require.Equal(t, 2, code)
}

func TestRunDoesNotBeginWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCtrlC)
	stdout, _, code, err := cli(t).Run(ctx, t.TempDir(), nil, nil, nil, role("patient"))
	require.Equal(t, errCtrlC, err)
	require.Equal(t, -1, code)
	require.Empty(t, stdout, "it would have said that it works")
}

// closedTerminal fails from its second line on.
type closedTerminal struct{ writes int }

func (c *closedTerminal) Write(text []byte) (int, error) {
	c.writes++
	if c.writes > 1 {
		return 0, io.ErrClosedPipe
	}
	return len(text), nil
}

func TestRunOutlivesItsReader(t *testing.T) {
	t.Parallel()
	terminal := &closedTerminal{}
	stdout, _, code, err := cli(t).Run(t.Context(), t.TempDir(), nil, []io.Writer{terminal}, nil, role("chatty"))
	require.NoError(t, err)
	require.Zero(t, code)
	require.Len(t, stdout, 10_000*100, "nothing is lost for the caller")
	require.Equal(t, 2, terminal.writes, "a writer that failed is left alone")
}

func TestWritesCountsWhatMayChangeAState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   []string
		writes uint64
	}{
		{[]string{"stack", "export", "--stack", "k3s-dev"}, 0},
		{[]string{"preview", "--refresh"}, 0},
		{[]string{"config", "--show-secrets", "--json"}, 0},
		{[]string{"up", "--yes"}, 1},
		{[]string{"refresh"}, 1},
		{[]string{"destroy"}, 1},
		{[]string{"stack", "import", "--stack", "k3s-dev"}, 1},
		{[]string{"stack", "exports-of-a-later-version"}, 1},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			command := cli(t)
			_, _, _, err := command.Run(t.Context(), t.TempDir(), nil, nil, nil, role("failing"), test.args...)
			require.Error(t, err)
			require.Equal(t, test.writes, command.Writes(), "one that failed may have written, too")
		})
	}
}
